"""What an interpreter costs around each kernel call: a number of cycles per operator, stated and overridable.

TensorFlow Lite Micro finds the node, its registration and tensors, and fills the kernel's parameter structures. Left
out: what that code does to the caches, and that operators with more tensors take longer.
"""

from __future__ import annotations

from mcusim.errors import UsageError

__all__ = ["OPERATOR_CYCLES", "operator_cycles", "stated"]

OPERATOR_CYCLES = {"cortex-m4": 2500, "cortex-m7": 1800}
"""Basis: assumed, "a few thousand cycles to invoke a node", less with dual issue; nothing was measured."""


def operator_cycles(isa: str, given: int | None = None) -> int:
    """Cycles for one operator on a core; ``given`` overrides. Raises UsageError for an unknown core."""
    if given is not None:
        return given
    if isa not in OPERATOR_CYCLES:
        raise UsageError(f"no cycles of an interpreter are known for {isa}; give them with --operator-overhead")
    return OPERATOR_CYCLES[isa]


def stated(isa: str, given: int | None) -> str:
    """The line that a result lists among its assumptions."""
    basis = "given" if given is not None else "assumed: a few thousand cycles to invoke a node, not measured"
    return f"interpreter: {operator_cycles(isa, given):,} cycles an operator ({basis})"
