"""Lifetimes: when each tensor has to be in memory, and the bytes in use at every step."""
