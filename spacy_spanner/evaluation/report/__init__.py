"""The evaluation report: one self-contained page and its figures."""
