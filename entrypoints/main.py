"""`python -m entrypoints.main`: the same as `crt main`."""

from crt.commands.main import main

if __name__ == "__main__":
    main()
