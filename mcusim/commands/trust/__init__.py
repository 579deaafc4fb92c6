"""Verify, validate, calibrate."""
