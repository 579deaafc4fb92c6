"""C code of a model for a compiled runtime: its array, parameters and straight calls, with the kernels it needs."""
