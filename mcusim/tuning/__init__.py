"""Kernels tuned to layers and boards: templates with a configuration space, tuners, trials, logs."""
