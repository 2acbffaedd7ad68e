"""`python -m entrypoints.baselines`: the same as `crt baselines`."""

from crt.commands.baselines import main

if __name__ == "__main__":
    main()
