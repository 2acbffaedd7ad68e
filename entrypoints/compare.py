"""`python -m entrypoints.compare`: the same as `crt compare`."""

from crt.commands.compare import main

if __name__ == "__main__":
    main()
