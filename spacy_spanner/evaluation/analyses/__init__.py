"""The papers' analyses, on any model and data: functions that return plain data."""
