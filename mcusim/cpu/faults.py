"""Why a program stopped, in words a person can act on.

Left out: what a fault handler of the program would have done (exceptions are not taken).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mcusim.cpu import state_layout as C

__all__ = ["Fault", "Stop", "describe"]

StopKind = Literal["horizon", "limit", "returned", "exit", "idle", "loop", "reset", "fault", "interrupted"]


@dataclass(frozen=True)
class Fault:
    """``kind`` is a short name, ``text`` one sentence; addresses without the Thumb bit; ``branches`` newest last."""

    kind: str
    text: str
    pc: int
    address: int | None
    registers: Mapping[str, int]
    branches: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Stop:
    """How a run ended; ``interrupted`` by a person. ``status``: the program's exit status; 0 unless it gave another."""

    kind: StopKind
    status: int = 0
    fault: Fault | None = field(default=None)


_TEXTS = {
    C.UNALIGNED: (
        "unaligned access",
        "{what} at {address} is not aligned, as this instruction (or CCR.UNALIGN_TRP) asks",
    ),
    C.UNALIGNED_DEVICE: (
        "unaligned access",
        "{what} at {address} is not aligned, and the address is Device memory, where every access must be; align it, or"
        " make the range Normal by an MPU region",
    ),
    C.NO_ACCESS: ("access violation", "{what} at {address}: the MPU gives no access to it"),
    C.READ_ONLY: ("access violation", "{what} at {address}: the memory is read-only there"),
    C.NO_PERIPHERAL: (
        "no such peripheral",
        "{what} at {address}{block}: the machine has no memory there and lists no peripheral; add one as"
        " [peripherals.<name>] with base, size and reads",
    ),
    C.NOTED: ("sanitizer", "{what} at {address}: other bytes are there than the program means"),
    C.STACK: ("stack overflow", "{what} at {address} is {below} the stack, whose lowest address is {limit}"),
    C.NO_FPU: (
        "no coprocessor",
        "a floating-point instruction while the FPU is off; enable it in CPACR (bits 20 to 23) first",
    ),
    C.ARM_STATE: (
        "invalid state",
        "a branch to an even address asks for Arm state, which Cortex-M does not have",
    ),
    C.ENDLESS_CODE: (
        "code without end",
        "at {address}: the program has run over 400,000 different instructions; a jump into memory without code?",
    ),
    C.NOT_EXECUTABLE: (
        "execution violation",
        "the address {address}{block} is execute-never by the default memory map or the MPU",
    ),
}


def describe(code: int, address: int, size: int, write: bool, limit: int, block: str | None) -> tuple[str, str]:
    """Kind and sentence for a fault code of :mod:`mcusim.cpu.state_layout`."""
    kind, text = _TEXTS[code]
    what = f"a {'store' if write else 'load'} of {size} B"
    where = f" ({block})" if block else ""
    below = "below" if address < limit else "in the guard at the end of"
    return kind, text.format(what=what, address=f"{address:#010x}", limit=f"{limit:#010x}", block=where, below=below)
