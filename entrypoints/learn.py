"""`python -m entrypoints.learn`: the same as `crt learn`."""

from crt.commands.learn import main

if __name__ == "__main__":
    main()
