"""Compiled programs and kernel sets."""
