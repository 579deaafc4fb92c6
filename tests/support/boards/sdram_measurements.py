"""Measured times of single accesses to the SDRAM of a board."""

from __future__ import annotations

# ttuzz, STM32F746G-DISCO at 200 MHz, SDCLK 100 MHz, MPU non-cacheable: HCLK per access
READS = {1: 14.6, 2: 15.3, 4: 14.9, 8: 18.8}
WRITES = {1: 10.0, 2: 10.0, 4: 10.9, 8: 13.2}
