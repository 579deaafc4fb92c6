"""Perfetto, VCD, callgrind."""
