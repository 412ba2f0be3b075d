"""Training by several processes, each with a share of every batch."""
