"""Speed measurements: ratios within one run, never asserted."""
