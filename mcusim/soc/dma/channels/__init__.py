"""Channels without FIFOs: DMA1 and DMA2 of the STM32L4, and the H7's BDMA."""
