"""Profiles counted from a binary (cmsis-2021-gcc9)."""
