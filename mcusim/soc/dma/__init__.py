"""DMA controllers by their registers: what firmware writes there moves data next to the emulated core."""
