"""Plots of memory plans."""
