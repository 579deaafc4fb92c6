"""What a user can choose about a plan, whatever the policy."""

from __future__ import annotations

from dataclasses import dataclass

from mcusim.errors import UsageError

__all__ = ["OVERLAYS", "PlanOptions"]

OVERLAYS = ("input", "filter", "bias", "quant")


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """``sram_budget`` in bytes (None: the whole pool), ``weights`` a region's name (None: the policy's own choice),
    ``overlay`` what the ``tinyops`` policy copies into SRAM, a subset of :data:`OVERLAYS`.

    Raises UsageError for a budget below one byte or an unknown overlay.
    """

    sram_budget: int | None = None
    weights: str | None = None
    overlay: frozenset[str] = frozenset(OVERLAYS)

    def __post_init__(self) -> None:
        if self.sram_budget is not None and self.sram_budget < 1:
            raise UsageError(f"an SRAM budget of {self.sram_budget} B is not a size; give at least 1 B")
        unknown = sorted(self.overlay - set(OVERLAYS))
        if unknown:
            raise UsageError(f"unknown overlay {', '.join(unknown)}; there are {', '.join(OVERLAYS)}")
