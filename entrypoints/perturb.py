"""`python -m entrypoints.perturb`: the same as `crt perturb`."""

from crt.commands.perturb import main

if __name__ == "__main__":
    main()
