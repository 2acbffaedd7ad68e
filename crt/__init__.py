"""ChineseRobustText: how much worse a Chinese text classifier gets on the input that people really write."""

__version__ = "0.1.0"

SCORING_VERSION = 3
"""Raised whenever a published number changes its meaning; part of every cell's fingerprint."""
