"""`python -m entrypoints.audit`: the same as `crt audit`."""

from crt.commands.audit import main

if __name__ == "__main__":
    main()
