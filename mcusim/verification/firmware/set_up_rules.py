"""What a transfer needs to have been set up before: the clock of its controller.

Not modelled: that a controller without its clock takes no store; here it works all the same.
"""

from __future__ import annotations

from mcusim.emulator.emulator import Emulator
from mcusim.soc.families.family import family_of
from mcusim.soc.machine_blocks import clock_bit


def clock_missing(emulator: Emulator, controller: str) -> str | None:
    """The bit of RCC that has to be set for ``controller``, where a program that was run from reset has not set it."""
    pair = clock_bit(family_of(emulator.machine) or "", controller)
    rcc = next((block for block in emulator.peripherals.blocks if block.name == "RCC"), None)
    if pair is None or rcc is None or not emulator.peripherals.from_reset:
        return None
    register, bit = pair
    if register not in rcc.names or rcc[register] >> bit & 1:
        return None
    return f"bit {bit} of RCC_{register}"
