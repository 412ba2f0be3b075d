"""Corpora: read, convert, count and write annotated text."""
