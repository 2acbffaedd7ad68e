"""The experiments: each joins data, perturbations, models and scores into one."""
