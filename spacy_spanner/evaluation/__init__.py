"""Evaluation, calibration and analysis: functions that return data."""
