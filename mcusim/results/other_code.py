"""What somebody else's code for the same runtime would take on the same plan.

Not modelled: what that code does to the plan, which is that of the kernels that were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OtherCode:
    """``kernels`` is its cost profile and ``title`` whose code it is; ``latency_ms`` by replay, or the ``reason`` why
    it does not run the model."""

    kernels: str
    title: str
    latency_ms: float | None = None
    reason: str = ""
