"""DMA-tiled execution (used by tinyops)."""
