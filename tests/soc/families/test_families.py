"""The data files: every part's blocks are where its memory map has them, and its clock set-up ends."""

from __future__ import annotations

import pytest

from mcusim.machine import load_machine
from mcusim.machine.catalog import machine_names
from mcusim.machine.parts import families
from mcusim.soc.families.family import block_at, family_of
from mcusim.soc.machine_blocks import KINDS, blocks_of, layouts_of, places_of, registers
from tests.support.bare_clock import Clock


@pytest.mark.parametrize("family", families())
def test_blocks_are_where_the_memory_map_has_them(family: str) -> None:
    for name, place in places_of(family).items():
        known = block_at(family, place["base"])
        assert known is not None and known.removesuffix(" + 0x00") in (name, "FMC/FSMC"), f"{name} is at {known}"


@pytest.mark.parametrize("family", families())
def test_a_block_has_keys_that_are_read_and_keeps_its_lines_over_a_reset(family: str) -> None:
    usual = {"base", "size", "layout", "irq", "resets", "flash_size_bit"}
    board = next(name for name in machine_names() if family_of(load_machine(name)) == family)
    for block in blocks_of(load_machine(board), Clock()):
        place = places_of(family)[block.name]
        assert place.keys() <= usual | set(block.wiring_keys), block.name
        assert {place[key] for key in place if key.endswith("irq")} <= set(block.lines), block.name
        before = block.lines
        block.reset()
        assert block.lines == before, block.name


@pytest.mark.parametrize("family", families())
def test_layouts_are_used_and_say_where_they_come_from(family: str) -> None:
    layouts = layouts_of(family)
    assert {place["layout"] for place in places_of(family).values() if "layout" in place} <= set(layouts)
    for name, layout in layouts.items():
        assert layout["basis"] in ("datasheet", "assumed") and layout["source"], name
        assert layout.get("kind", "timer") in KINDS, name
        for offset, register in registers(layout, 1_000_000).items():
            assert offset % 4 == 0 and register.reset >> 32 == 0, (name, register.name)


# control register, its bit, status register, its bit: every wait of a clock set-up
WAITS = {
    "f4": [("RCC", "CR", 16, "CR", 17), ("RCC", "CR", 24, "CR", 25), ("RCC", "CR", 28, "CR", 29),
           ("RCC", "CFGR", 1, "CFGR", 3), ("PWR", "CR1", 16, "CSR1", 16), ("PWR", "CR1", 17, "CSR1", 17),
           ("RCC", "BDCR", 0, "BDCR", 1), ("RCC", "CSR", 0, "CSR", 1)],
    "h7": [("RCC", "CR", 16, "CR", 17), ("RCC", "CR", 24, "CR", 25), ("RCC", "CFGR", 1, "CFGR", 4),
           ("RCC", "CR", 7, "CR", 8), ("RCC", "CR", 12, "CR", 13), ("RCC", "CR", 26, "CR", 27),
           ("RCC", "CR", 28, "CR", 29), ("RCC", "BDCR", 0, "BDCR", 1), ("RCC", "CSR", 0, "CSR", 1),
           ("SYSCFG", "CCCSR", 0, "CCCSR", 8)],
    "l4": [("RCC", "CR", 8, "CR", 10), ("RCC", "CR", 24, "CR", 25), ("RCC", "CFGR", 1, "CFGR", 3),
           ("RCC", "CR", 16, "CR", 17), ("RCC", "CR", 26, "CR", 27), ("RCC", "CR", 28, "CR", 29),
           ("RCC", "BDCR", 0, "BDCR", 1), ("RCC", "CSR", 0, "CSR", 1), ("RCC", "CRRCR", 0, "CRRCR", 1)],
    "g4": [("RCC", "CR", 24, "CR", 25), ("RCC", "CR", 16, "CR", 17), ("RCC", "CFGR", 1, "CFGR", 3),
           ("RCC", "BDCR", 0, "BDCR", 1), ("RCC", "CSR", 0, "CSR", 1), ("RCC", "CRRCR", 0, "CRRCR", 1)],
}  # fmt: skip
WAITS["f7"] = WAITS["f4"]


@pytest.mark.parametrize("board", machine_names())
def test_each_wait_of_a_clock_set_up_ends_but_not_at_once(board: str) -> None:
    machine, clock = load_machine(board), Clock()
    blocks = {block.name: block for block in blocks_of(machine, clock)}
    family = family_of(machine)
    assert family is not None
    for name, control, bit, status, shown in WAITS[family]:
        block = blocks[name]
        block.write(block._at[control], 4, block[control] | 1 << bit)
        offset = block._at[status]
        assert not block.read(offset, 4) >> shown & 1, f"{name}_{status} bit {shown}"
        clock.cycles += 2_000_000  # two seconds, the longest of them
        assert block.read(offset, 4) >> shown & 1, f"{name}_{status} bit {shown}"


def test_a_machine_file_replaces_a_block_of_the_family() -> None:
    machine = load_machine("nucleo-f767zi")
    names = {block.name for block in blocks_of(machine, Clock())}
    assert {"RCC", "GPIOK", "TIM1", "USART6"} <= names
