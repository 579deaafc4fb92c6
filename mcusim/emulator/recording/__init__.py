"""What a program did over time: the work of the core, handlers, DMA transfers, waits for them."""
