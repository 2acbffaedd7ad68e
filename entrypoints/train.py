"""`python -m entrypoints.train`: the same as `crt train`."""

from crt.commands.train import main

if __name__ == "__main__":
    main()
