"""Measurements: each script prints a table for docs/benchmarks.md."""

import os

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
