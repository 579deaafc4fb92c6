"""The Cortex-M core: decoded instructions, pipeline timing, hooks of the emulation, exceptions and system registers."""
