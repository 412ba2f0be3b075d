"""Figures of plain data, drawn with matplotlib (extra `plots`)."""
