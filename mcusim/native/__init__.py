"""Native functions, which numba and LLVM translate once, their stored library, structs, and memory of the host."""
