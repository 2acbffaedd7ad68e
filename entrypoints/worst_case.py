"""`python -m entrypoints.worst_case`: the same as `crt worst_case`."""

from crt.studies.worst_case.command import main

if __name__ == "__main__":
    main()
