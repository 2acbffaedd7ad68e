"""`python -m entrypoints.heuristics`: the same as `crt heuristics`."""

from crt.studies.heuristics.command import main

if __name__ == "__main__":
    main()
