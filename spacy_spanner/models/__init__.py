"""The four models, and what they share."""
