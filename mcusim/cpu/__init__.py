"""The emulated Cortex-M core: it runs program images and counts cycles, stops at faults and records profiles."""
