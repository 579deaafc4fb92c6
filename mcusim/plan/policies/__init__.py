"""One file per policy; each has ``plan(graph, machine, kernels, options) -> Program``."""
