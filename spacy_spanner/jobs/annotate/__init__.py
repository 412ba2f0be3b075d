"""Apply a pipeline to corpora of any size, on one machine or on many."""
