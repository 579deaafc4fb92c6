"""Tiled execution with DMA copies into fast RAM, as policy ``tinyops`` uses it."""
