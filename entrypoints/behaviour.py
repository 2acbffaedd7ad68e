"""`python -m entrypoints.behaviour`: the same as `crt behaviour`."""

from crt.studies.behaviour.command import main

if __name__ == "__main__":
    main()
