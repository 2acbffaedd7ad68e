"""The commands: each parses its options, opens a run, calls one study and writes files. Run with `python -m`."""
