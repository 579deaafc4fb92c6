"""A Cortex-M core, emulated: ELF images, decoding, pipeline timing, faults, profiles. No SimPy, no networks."""
