"""Bytes to instructions."""
