"""Encoders for the `tok2vec` slot of any component."""
