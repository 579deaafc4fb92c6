"""Limits that a user names, and ways out of a negative answer."""
