"""Static proof that a program is correct on a machine: order of tasks, data, caches, limits of the DMA."""

from mcusim.verification.findings import RULES, Finding
from mcusim.verification.proof.prove import prove

__all__ = ["RULES", "Finding", "prove"]
