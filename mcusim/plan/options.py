"""What a user can choose about a plan, whatever the policy."""

from __future__ import annotations

from dataclasses import dataclass

from mcusim.errors import UsageError

__all__ = ["BUFFERING", "OVERLAYS", "PlanOptions"]

OVERLAYS = ("input", "filter", "bias", "quant")
BUFFERING = {"double": 2, "single": 1}  # buffers for the tiles of an input, and for filters


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """``sram_budget`` in bytes (None: the whole pool), ``weights`` a region's name (None: the policy's own choice),
    ``overlay`` what the ``tinyops`` policy copies into SRAM, a subset of :data:`OVERLAYS`; ``buffering``, of
    :data:`BUFFERING`, whether it fills one buffer while the core reads the other, or has one and does both in turn.

    Raises UsageError for a budget below one byte, an unknown overlay or an unknown buffering.
    """

    sram_budget: int | None = None
    weights: str | None = None
    overlay: frozenset[str] = frozenset(OVERLAYS)
    buffering: str = "double"

    def __post_init__(self) -> None:
        if self.sram_budget is not None and self.sram_budget < 1:
            raise UsageError(f"an SRAM budget of {self.sram_budget} B is not a size; give at least 1 B")
        unknown = sorted(self.overlay - set(OVERLAYS))
        if unknown:
            raise UsageError(f"unknown overlay {', '.join(unknown)}; there are {', '.join(OVERLAYS)}")
        if self.buffering not in BUFFERING:
            raise UsageError(f"unknown buffering {self.buffering[:80]!r}; there are {', '.join(BUFFERING)}")
