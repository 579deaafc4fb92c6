"""The numba toolkit of memory, cpu and kernels: compile decorator, word arrays, records, host memory."""
