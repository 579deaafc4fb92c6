"""A Cortex-M core, emulated: ELF images, decoding, pipeline timing, faults, profiles. Knows no SimPy and no networks."""
