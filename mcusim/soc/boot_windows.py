"""Addresses at which a part shows its memories as well, beyond those of a machine file.

The flash of an STM32F4 or L4 is at 0 after a reset (ST RM0090 2.4, boot configuration; SYSCFG_MEMRMP.MEM_MODE 0); an
SDRAM of an F4 or F7 is at 0xC000_0000 or 0xD000_0000, with SWP_FMC at 0x6000_0000 or 0x7000_0000 (ST RM0385 2.2.1).

Not modelled: booting from system memory or SRAM.
"""

from __future__ import annotations

from dataclasses import replace

from mcusim.machine.description import Machine, Region
from mcusim.soc.families.family import family_of, memory_map

SWAP = 0xA000_0000  # what SWP_FMC changes in an address


def with_boot_windows(machine: Machine) -> Machine:
    """``machine`` with those addresses as aliases of its regions, where nothing else is."""
    own = memory_map(family_of(machine) or "")
    memory = dict(machine.memory)
    for name, region in machine.memory.items():
        more: tuple[int, ...] = ()
        if own.get("flash_at_zero") and region.kind == "flash":
            more = (0,)
        elif own.get("swapped_banks") and region.kind == "sdram":
            more = tuple(base ^ SWAP for base in (region.base, *region.aliases) if base >> 28 in (0x6, 0x7, 0xC, 0xD))
        free = tuple(base for base in more if _free(memory, base, region.size))
        memory[name] = replace(region, aliases=(*region.aliases, *free)) if free else region
    return replace(machine, memory=memory)


def _free(memory: dict[str, Region], base: int, size: int) -> bool:
    taken = ((at, at + region.size) for region in memory.values() for at in (region.base, *region.aliases))
    return not any(base < end and at < base + size for at, end in taken)
