"""One training: stored with its whole state, and resumed from there."""
