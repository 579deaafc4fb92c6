"""The STM32H7's MDMA."""
