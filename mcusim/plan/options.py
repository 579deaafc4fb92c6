"""What a user can choose about a plan, whatever the policy."""

from __future__ import annotations

from dataclasses import dataclass

from mcusim.errors import UsageError
from mcusim.program.opaque import Costs

__all__ = ["ALLOCATORS", "BUFFERING", "ORDERS", "OVERLAYS", "VARIANTS", "PlanOptions"]

OVERLAYS = ("input", "filter", "bias", "quant")
ORDERS = ("default", "optimal")
ALLOCATORS = ("greedy", "linear", "optimal", "offline")
BUFFERING = {"double": 2, "single": 1}  # buffers for the tiles of an input, and for filters
VARIANTS = ("2022", "2023")  # of the tinyops policy: the paper's, and that of the public firmware a year later


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """``sram_budget`` in bytes (None: the whole pool), ``weights`` a region's name (None: the policy's own choice),
    ``overlay`` what the ``tinyops`` policy copies into SRAM, a subset of :data:`OVERLAYS`; ``buffering``, of
    :data:`BUFFERING`, whether it fills one buffer while the core reads the other, or has one and does both in turn;
    ``variant``, of :data:`VARIANTS`, whose order of copies and whose buffers it has.

    ``order``, of :data:`ORDERS`: the operators as stored, or in the order of least peak. ``allocator``, of
    :data:`ALLOCATORS`: who places the tensors; None is ``offline`` for a file that has a plan for the order, else
    ``greedy``. ``in_place``: results lie in the bytes of inputs that die, as
    :func:`mcusim.plan.liveness.accounting.sharing` defines it. ``seconds`` limits the search of an order, and that of
    offsets to :data:`PLACING` at most. ``costs``: what opaque operators cost (:mod:`mcusim.program.opaque`).

    Raises UsageError for a budget below one byte, a name that is not known, and variant 2023 with single buffers.
    """

    sram_budget: int | None = None
    weights: str | None = None
    overlay: frozenset[str] = frozenset(OVERLAYS)
    buffering: str = "double"
    order: str = "default"
    allocator: str | None = None
    in_place: bool = False
    seconds: float = 60.0
    costs: Costs = ()
    variant: str = "2022"

    def __post_init__(self) -> None:
        if self.sram_budget is not None and self.sram_budget < 1:
            raise UsageError(f"an SRAM budget of {self.sram_budget} B is not a size; give at least 1 B")
        unknown = sorted(self.overlay - set(OVERLAYS))
        if unknown:
            raise UsageError(f"unknown overlay {', '.join(unknown)}; there are {', '.join(OVERLAYS)}")
        if self.buffering not in BUFFERING:
            raise UsageError(f"unknown buffering {self.buffering[:80]!r}; there are {', '.join(BUFFERING)}")
        if self.variant not in VARIANTS:
            raise UsageError(f"unknown variant {self.variant[:80]!r}; there are {', '.join(VARIANTS)}")
        if self.variant == "2023" and self.buffering == "single":
            raise UsageError("--variant 2023 has two buffers for tiles; --buffering single is for variant 2022")
        if self.order not in ORDERS:
            raise UsageError(f"order {self.order[:80]!r}: must be one of {', '.join(ORDERS)}")
        if self.allocator == "dynamic":
            raise UsageError(
                "the dynamic allocator moves tensors while the network runs, which no program does; `mcusim memory"
                " --allocator dynamic` shows what it would need"
            )
        if self.allocator is not None and self.allocator not in ALLOCATORS:
            raise UsageError(f"allocator {self.allocator[:80]!r}: must be one of {', '.join(ALLOCATORS)}")
