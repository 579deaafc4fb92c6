"""DMA transfers in flight: their beats, and arbitration with the core's accesses."""
