"""Proof that a program is right on a machine, from the program alone: order, data, caches, the DMA's limits."""

from mcusim.verification.findings import RULES, Finding
from mcusim.verification.proof.prove import prove

__all__ = ["RULES", "Finding", "prove"]
