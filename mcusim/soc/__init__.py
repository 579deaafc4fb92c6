"""What is on the chip around the core: register blocks with their behaviour, DMA controllers, the part families."""
