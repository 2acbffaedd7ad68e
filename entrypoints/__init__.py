"""The entry points of MLproject: one file for each command of `crt/commands/`."""
