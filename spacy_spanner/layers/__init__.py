"""The bridge between Thinc and torch."""
