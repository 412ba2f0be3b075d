"""Readers of annotated text, one format a file."""
