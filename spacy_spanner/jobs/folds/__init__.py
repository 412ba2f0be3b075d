"""Predict every document of a corpus by a pipeline that was trained without it."""
