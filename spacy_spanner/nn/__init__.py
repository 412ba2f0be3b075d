"""Torch blocks that more than one model uses, one per file."""
