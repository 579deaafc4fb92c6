"""What executes a model on the device: what it adds to the kernels in memory, cycles and flash."""
