"""The mathematics of spans and windows, in numpy alone."""
