"""Streams with FIFOs: DMA1 and DMA2 of the STM32F4, F7 and H7."""
