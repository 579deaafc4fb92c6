"""The numba toolkit (compile decorator, word arrays, host memory), used by memory, cpu and kernels alike."""
