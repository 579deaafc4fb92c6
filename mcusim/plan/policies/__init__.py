"""Placement policies, one file each, with ``plan(graph, machine, kernels, options) -> Program``."""
