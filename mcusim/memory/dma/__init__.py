"""Transfers under way beside the core."""
