"""The models: one folder each, which adds its own mathematics and nothing else."""
