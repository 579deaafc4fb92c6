"""Addresses at which a run ends: one that was asked for, and where reset code has called ``main`` and has no way on.

The start-up files of vendors end in ``bl main; bx lr``. The call has overwritten LR, so that the BX goes anywhere once
``main`` has returned. Not modelled: other ways to run off the end of reset code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import proxy

from mcusim.emulator.stops.stop import Stop

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore

_RESET_CODE = 512  # bytes that are looked through
_BX_LR = 0x4770


def stop_at(emulator: GuestCore, address: int, stop: Stop) -> None:
    """End the run with ``stop`` before the first instruction at ``address`` (without Thumb bit) that is executed."""
    core = proxy(emulator)

    def reached() -> None:
        core.reached = stop
        core.core.uc.emu_stop()

    emulator.core.call_at(address, reached)


def after_main(emulator: GuestCore, reset: int) -> int | None:
    """The address of the first BX LR that follows a BL in the code at ``reset``, or None."""
    data = next((d for size in range(_RESET_CODE, 3, -2) if (d := emulator.core.peek(reset, size))), b"")
    at, called = 0, False
    while at + 2 <= len(data):
        first = int.from_bytes(data[at : at + 2], "little")
        if called and first == _BX_LR:
            return reset + at
        wide = first >> 11 in (0b11101, 0b11110, 0b11111)
        second = int.from_bytes(data[at + 2 : at + 4], "little")
        called = first >> 11 == 0b11110 and second >> 14 == 0b11 and bool(second & 0x1000)  # BL: 11110..., 11.1...
        at += 4 if wide else 2
    return None
