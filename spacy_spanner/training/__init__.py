"""The training recipe of the papers as functions for `[training]` of a config."""
