"""`python -m crt`: the same as the command `crt`."""

from crt.commands import crt

if __name__ == "__main__":
    crt(prog_name="python -m crt")
