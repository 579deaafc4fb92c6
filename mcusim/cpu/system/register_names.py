"""Names for addresses outside memory: the register blocks of ST's families and the core's own registers.

The names serve error texts; what a block does is in :mod:`mcusim.cpu.peripherals`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache

from mcusim.cpu.system.register_tables import BLOCKS, PARTS, REGISTERS, SERIES
from mcusim.machine.description import Machine

__all__ = ["block_at", "blocks_in", "family_of", "name_of", "register_at"]

_FAMILY = re.compile(r"(?:stm32|nucleo-?|disco-?|\b)(f4|f7|h7|l4)[0-9a-z]", re.IGNORECASE)


def family_of(machine: Machine) -> str | None:
    """``f4``, ``f7``, ``h7`` or ``l4`` by the machine's name or title, or None."""
    found = _FAMILY.search(machine.name) or _FAMILY.search(machine.title)
    return found[1].lower() if found else None


@cache
def blocks_in(family: str) -> list[tuple[int, int, str]]:
    words = iter(BLOCKS.get(family, "").split())
    found = []
    for name, place in zip(words, words, strict=True):
        start, _, size = place.partition("/")
        base = int(start, 16)
        found.append((base, base + 1024 * int(size or 1), name))
    return sorted(found)


def block_at(family: str, address: int) -> str | None:
    """The register block of an STM32 family (``f4 f7 h7 l4``) and the offset in it, as ``RCC + 0x08``; or None."""
    blocks = blocks_in(family)
    index = bisect_right(blocks, (address, 1 << 32)) - 1
    if index < 0 or address >= blocks[index][1]:
        return None
    return f"{blocks[index][2]} + {address - blocks[index][0]:#04x}"


@cache
def _registers() -> dict[int, str]:
    found = {base + 4 * n: f"{name}{n}" for base, count, name in SERIES for n in range(count)}
    for base, (prefix, table) in REGISTERS.items():
        words = iter(table.split())
        found |= {base + int(offset, 16): prefix + name for offset, name in zip(words, words, strict=True)}
    return found


def register_at(address: int) -> str | None:
    """The register of the private peripheral bus whose word contains ``address``, else its part and offset, or None."""
    name = _registers().get(address & ~3)
    if name:
        return name if not address & 3 else f"{name} + {address & 3}"
    index = bisect_right(PARTS, (address, "\uffff")) - 1
    base, part = PARTS[index] if index >= 0 else (0, "")
    return f"{part} + {address - base:#05x}" if part else None


def name_of(machine: Machine, address: int) -> str | None:
    """What an address outside memory is called: a block the machine lists, a core register, a block of its family."""
    for block in machine.peripherals.values():
        if block.base <= address < block.base + block.size:
            return f"{block.name} + {address - block.base:#04x}"
    return register_at(address) or block_at(family_of(machine) or "", address)
