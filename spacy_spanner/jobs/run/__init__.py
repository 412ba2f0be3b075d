"""Checkpoints of a training run, and resuming from them."""
