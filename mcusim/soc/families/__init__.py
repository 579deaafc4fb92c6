"""STM32 part families, a folder each: blocks, memory map, DMA, clocks and regulator; what several of them share."""
