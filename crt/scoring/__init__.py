"""From outcomes to numbers: pure functions."""
