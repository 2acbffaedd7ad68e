"""`python -m entrypoints.reach`: the same as `crt reach`."""

from crt.commands.reach import main

if __name__ == "__main__":
    main()
