"""Tuning of kernels to layers, and of a plan to a board's memories."""
