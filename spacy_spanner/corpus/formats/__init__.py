"""Readers of annotated text, one format per file."""
