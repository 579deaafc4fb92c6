"""Linking: put a kernel set, or the part of it that some functions need, at an address."""
