"""Decoding of Thumb-2 code: from bytes to instructions with what they read, write and access."""
