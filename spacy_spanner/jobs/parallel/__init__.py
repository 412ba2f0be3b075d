"""Training with several processes that share every batch."""
