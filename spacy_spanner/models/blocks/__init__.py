"""Torch blocks that more than one model uses, one a file."""
