"""Static proof that a program is correct on a machine: order of tasks, data, caches, limits of the DMA."""

from mcusim.verification.findings import Finding
from mcusim.verification.proof.prove import prove

__all__ = ["Finding", "prove"]
