"""Searches: the same training with many settings and seeds, and the best of them."""
