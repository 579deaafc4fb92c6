"""The numba toolkit of memory, cpu and kernels: native functions and their stored library, structs, host memory."""
