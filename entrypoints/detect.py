"""`python -m entrypoints.detect`: the same as `crt detect`."""

from crt.studies.detect.command import main

if __name__ == "__main__":
    main()
