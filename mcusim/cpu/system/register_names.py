"""Names for addresses outside memory, interrupt lines and parts: ST's families, the core's own registers.

The names serve error texts and findings; what a block does is in :mod:`mcusim.soc`.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from functools import cache
from importlib.resources import files
from typing import Any

from mcusim.cpu.system.register_tables import PARTS, REGISTERS, SERIES
from mcusim.machine.description import Machine
from mcusim.machine.parts import FAMILIES, family_of_part
from mcusim.units import parse_size

__all__ = [
    "block_at",
    "blocks_in",
    "device_id",
    "family_of",
    "line_name",
    "lines_of",
    "mpu_regions",
    "name_of",
    "register_at",
]

_FAMILY = re.compile(rf"(?:stm32|nucleo-?|disco-?|\b)({'|'.join(FAMILIES)})[0-9a-z]", re.IGNORECASE)


def family_of(machine: Machine) -> str | None:
    """``f4``, ``f7``, ``h7`` or ``l4`` by the machine's ``part``, else by its name or title; or None."""
    if machine.part:
        return family_of_part(machine.part)
    match = _FAMILY.search(machine.name) or _FAMILY.search(machine.title)
    return match[1].lower() if match else None


@cache
def _map(family: str) -> dict[str, Any]:
    text = (files("mcusim.cpu.system") / "memory_maps.toml").read_text("utf-8")
    result: dict[str, Any] = tomllib.loads(text).get(family, {})
    return result


@cache
def blocks_in(family: str) -> list[tuple[int, int, str]]:
    """First address, end and name of every register block of a family, by address."""
    entries = []
    for name, block in _map(family).get("blocks", {}).items():
        base, size = (block, "1 KiB") if isinstance(block, int) else block
        entries.append((base, base + parse_size(size), name))
    return sorted(entries)


def device_id(machine: Machine) -> int:
    """DBGMCU_IDCODE (device and revision) of the machine's part, by its ``part``, name or title; 0 where unknown."""
    known = _map("device_ids")
    names = (machine.part,) if machine.part else (machine.name, machine.title)
    result = (value for name in names for part, value in known.items() if part.lower() in name.lower())
    return int(next(result, 0))


def mpu_regions(machine: Machine, usual: int) -> int:
    """How many regions the MPU of the machine's part has; ``usual``: as many as its core's."""
    return int(_map("mpu_regions").get(family_of(machine) or "", usual))


def line_name(family: str, irq: int) -> str | None:
    """What the vendor calls interrupt line ``irq`` of a family; empty: it has no such line, None: not known here."""
    lines: list[str] | None = _map(family).get("interrupts")
    if lines is None:
        return None
    return lines[irq] if irq < len(lines) else ""


def lines_of(machine: Machine) -> int:
    """How many interrupt lines the machine's NVIC has: its family's, in words of 32; 240 where that is not known."""
    family = family_of(machine)
    named = _map(family).get("interrupts") if family is not None else None
    return 240 if named is None else min(240, -(-len(named) // 32) * 32)


def block_at(family: str, address: int) -> str | None:
    """The register block of an STM32 family (``f4 f7 h7 l4``) and the offset in it, as ``RCC + 0x08``; or None."""
    blocks = blocks_in(family)
    index = bisect_right(blocks, (address, 1 << 32)) - 1
    if index < 0 or address >= blocks[index][1]:
        return None
    return f"{blocks[index][2]} + {address - blocks[index][0]:#04x}"


@cache
def _registers() -> dict[int, str]:
    registers = {base + 4 * n: f"{name}{n}" for base, count, name in SERIES for n in range(count)}
    for base, (prefix, table) in REGISTERS.items():
        words = iter(table.split())
        registers |= {base + int(offset, 16): prefix + name for offset, name in zip(words, words, strict=True)}
    return registers


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
