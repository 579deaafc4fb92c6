"""Cost profiles of kernels: the cycles and accesses that fidelity ``replay`` uses."""
