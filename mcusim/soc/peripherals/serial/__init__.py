"""Blocks that send and receive: USART, SPI, I2C, QUADSPI and the flash behind it."""
