"""`python -m entrypoints.evaluate`: the same as `crt evaluate`."""

from crt.commands.evaluate import main

if __name__ == "__main__":
    main()
