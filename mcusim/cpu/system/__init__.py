"""PPB registers, MPU, register names; NVIC and DMA registers will live here."""
