"""What is known of a part family, by its data files and its code; and what an address or a line of one is called.

``<family>/blocks.toml`` has the blocks that have a description, DMA controllers and clocks;
``<family>/memory_map.toml`` where all blocks are, what interrupt lines are called, and what a part shows of itself; its
code what RCC and PWR say (:class:`~mcusim.soc.families.family_registers.FamilyRegisters`). Not modelled: differences
between the members of a family.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from mcusim.cpu.system.ppb import PartTraits
from mcusim.cpu.system.register_names import register_at
from mcusim.machine.description import Machine
from mcusim.machine.parts import families, family_of_part
from mcusim.soc.families.family_registers import FamilyRegisters
from mcusim.units import parse_size

_FOLDER = Path(__file__).parent
_FAMILY = re.compile(r"(?:stm32|nucleo-?|disco-?|\b)([a-z][0-9])[0-9a-z]", re.IGNORECASE)


def family_of(machine: Machine) -> str | None:
    """The family (``f4``) by the machine's ``part``, else by its name or title; or None."""
    if machine.part:
        return family_of_part(machine.part)
    names = (match[1].lower() for text in (machine.name, machine.title) for match in _FAMILY.finditer(text))
    return next((name for name in names if name in families()), None)


@cache
def shared(name: str) -> dict[str, Any]:
    """A file that families share: ``layouts``, ``outside``."""
    return tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8"))


def described(family: str) -> dict[str, Any]:
    """The family's blocks, DMA controllers, requests and clocks; empty for none."""
    return _file(family, "blocks")


def memory_map(family: str) -> dict[str, Any]:
    """Where all blocks of a family are, its interrupt lines, and what else its parts show; empty for none."""
    return _file(family, "memory_map")


@cache
def _file(family: str, name: str) -> dict[str, Any]:
    if not family:
        return {}
    return tomllib.loads((_FOLDER / family / f"{name}.toml").read_text("utf-8"))


def registers_of(family: str) -> FamilyRegisters:
    """What the clocks, the regulator and the flash of a family are set by."""
    own: FamilyRegisters = import_module(f"mcusim.soc.families.{family}").REGISTERS
    return own


def bus_divider(family: str, bus: str) -> tuple[str, int]:
    """The register and the lowest bit of the divider of ``apb1`` or ``apb2``."""
    clock = described(family)["clocks"][bus]
    return f"RCC_{clock['register']}", clock["bit"]


def part_traits(machine: Machine) -> PartTraits:
    """What the machine's part shows in the private peripheral bus, by its ``part``, else its name or title."""
    own = memory_map(family_of(machine) or "")
    lines = 240 if "interrupts" not in own else min(240, -(-len(own["interrupts"]) // 32) * 32)
    names = (machine.part,) if machine.part else (machine.name, machine.title)
    ids = own.get("device_ids", {}).items()
    known = (value for name in names for part, value in ids if part.lower() in name.lower())
    return PartTraits(lines, own.get("mpu_regions"), int(next(known, 0)))


@cache
def blocks_in(family: str) -> list[tuple[int, int, str]]:
    """First address, end and name of every register block of a family, by address."""
    entries = []
    for name, block in memory_map(family).get("blocks", {}).items():
        base, size = (block, "1 KiB") if isinstance(block, int) else block
        entries.append((base, base + parse_size(size), name))
    return sorted(entries)


def line_name(family: str, irq: int) -> str | None:
    """What the vendor calls interrupt line ``irq`` of a family; empty: it has no such line, None: not known here."""
    lines: list[str] | None = memory_map(family).get("interrupts")
    if lines is None:
        return None
    return lines[irq] if irq < len(lines) else ""


def block_at(family: str, address: int) -> str | None:
    """The register block of an family and the offset in it, as ``RCC + 0x08``; or None."""
    blocks = blocks_in(family)
    index = bisect_right(blocks, (address, 1 << 32)) - 1
    if index < 0 or address >= blocks[index][1]:
        return None
    return f"{blocks[index][2]} + {address - blocks[index][0]:#04x}"


def name_of(machine: Machine, address: int) -> str | None:
    """What an address outside memory is called: a block the machine lists, a core register, a block of its family."""
    for block in machine.peripherals.values():
        if block.base <= address < block.base + block.size:
            return f"{block.name} + {address - block.base:#04x}"
    return register_at(address) or block_at(family_of(machine) or "", address)
