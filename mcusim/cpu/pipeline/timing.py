"""The static timing of one basic block; the native hooks add what is known only when it runs.

Static here: issue cycles, hazards inside the block, what goes over to the next block. Dynamic (added by the hooks):
memory stalls, fetch stalls, branch refill or misprediction, the operand-dependent part of a divide, unaligned accesses,
banks that collide, the store buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol

from mcusim.cpu.decode.instruction import Instruction

# why an instruction issues later than the one before it allows, as profiles name it
CAUSES = ("load-use", "address", "latency", "multi-cycle", "alignment", "structural")


@dataclass(frozen=True, slots=True)
class Stall:
    """``cycles`` that instruction number ``index`` of the block costs beyond its issue slot, for ``cause``."""

    index: int
    cause: str
    cycles: int


@dataclass(frozen=True, slots=True)
class AccessTiming:
    """One access of the block (all instructions' ``accesses`` in order); cycles count from the block's entry."""

    at: int
    extra: int = 0  # added when the access is made: a conditional instruction whose failing costs less than its passing
    paired: bool = False  # M7: issued in the same cycle as the access before it; the same bank costs a cycle more
    follows: bool = False  # M4: back to back with the access before it; another memory costs a cycle more
    younger: bool = False  # M7: in the second issue slot
    even: bool = False  # M7: first of an even number of words of one STM; 4 past a multiple of 8 costs a cycle more


@dataclass(frozen=True, slots=True)
class Timing:
    """``at[i]``: issue cycle of instruction i; ``cycles``: entry to where the next block could issue, branch not taken.

    ``ready``: register bit -> cycles past the block's end until a plain ALU instruction may read it (only those > 0);
    ``needs``: register bit -> cycle of the block at which it is first read (only where a late result could delay it);
    a model may count both from one cycle earlier, for readers that come before the ALU: only differences matter.
    ``flags_early``: the flags of the closing conditional branch were set three or more cycles before it.
    ``leaves_slot``: M7: the closing branch left the slot next to it free, and a next block entered without loss begins
    there; first for this block begun in its own cycle, then for this block begun next to a branch. ``shares``:
    cycles that this block saves by beginning there (less than 0 when its pairs then fall worse).
    ``fetched``: M4: cycles more, and the state that the prefetch is left in, for each state it may be entered in
    (:mod:`mcusim.cpu.pipeline.cortex_m4_fetch`); empty where that makes no difference. ``found_in_decode``: M4: the
    refill behind the closing branch is a cycle less.
    """

    at: tuple[int, ...]
    cycles: int
    accesses: tuple[AccessTiming, ...] = ()
    stalls: tuple[Stall, ...] = ()
    ready: Mapping[int, int] = field(default_factory=dict)
    needs: Mapping[int, int] = field(default_factory=dict)
    flags_early: bool = False
    leaves_slot: tuple[bool, bool] = (False, False)
    shares: int = 0
    fetched: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    found_in_decode: bool = False


class Pipeline(Protocol):
    """A core's static timing."""

    def schedule(self, block: Sequence[Instruction], line: int = 0) -> Timing:
        """Time one block of consecutive instructions, the first entered with nothing in flight.

        ``line``: bytes of a line of the code's memory where that gives code and literals in turn, else 0.
        """


def pipeline_named(name: str) -> Pipeline:
    """The pipeline of :class:`~mcusim.machine.cores.CoreTraits`; its native code is loaded now."""
    file, _, kind = name.partition(":")
    made: Pipeline = getattr(import_module(f"mcusim.cpu.pipeline.{file}"), kind)()
    return made
