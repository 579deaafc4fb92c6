"""Plots of runs: tasks over time, time and energy by operator, traffic, memory in use, comparisons."""
