"""The emulated Cortex-M core: it runs ELF images and counts cycles, stops at faults and records profiles."""
