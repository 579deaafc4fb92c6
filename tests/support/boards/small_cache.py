"""A board with small caches, and programs whose accesses all go through them."""

from __future__ import annotations

from mcusim.machine import load_machine
from mcusim.machine.description import Machine

SDRAM, STACK = 0x6000_0000, 0x6008_0000  # the stack too: every access is cached
PROGRAMS = {
    "shuffled pointers": ("memory", "chase_shuffle", (SDRAM, 16_384, 64, 7)),
    "copy of bytes": ("memory", "copy_bytes", (SDRAM + 5, SDRAM + 0x2003, 6_000)),
    "convolution": ("conv", "run_layer", (1, 1)),  # constants and the stack
    "dot product": ("conv", "dot", (SDRAM + 1, SDRAM + 0x3000, 4000)),
    "linked lists and matrices": ("integer", "integer", (1,)),
}
POLICIES = ("lru", "round-robin", "random")


def board(policy: str) -> Machine:
    """The F746 with smaller caches."""
    keys = {"cache.data.replacement": policy, "cache.data.size": "1 KiB", "cache.instruction.size": "512 B"}
    return load_machine("stm32f746g-disco", keys)
