"""The bridge between Thinc and torch, written once for all models."""
