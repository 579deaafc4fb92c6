"""Plots of memory plans: bytes in use by step, addresses, moves of buffers."""
