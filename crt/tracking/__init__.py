"""MLflow: runs and what is read back of them, the registry of checkpoints, and living with a store that others use."""
