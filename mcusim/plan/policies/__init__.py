"""One file per policy: ``plan(graph, machine, kernels, options) -> Program``, registered by the file itself."""
