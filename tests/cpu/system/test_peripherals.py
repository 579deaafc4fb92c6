"""Register blocks: their names, and what a machine file may say of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from mcusim.cpu.system.register_names import register_at
from mcusim.errors import MachineError
from mcusim.machine import Machine, load_machine
from mcusim.machine.description import Mirror, Peripheral
from mcusim.machine.parts import families
from mcusim.soc.families.family import block_at, blocks_in, family_of, line_name, name_of


@pytest.mark.parametrize(
    ("family", "address", "name"),
    [
        ("f4", 0x4002_3800, "RCC + 0x00"),
        ("f4", 0x4002_3BFF, "RCC + 0x3ff"),
        ("f4", 0x4002_3C00, "FLASH + 0x00"),
        ("f4", 0x4002_4FFF, "BKPSRAM + 0xfff"),
        ("f4", 0x4002_5000, None),
        ("f7", 0x4001_101C, "USART1 + 0x1c"),
        ("f7", 0x4002_0014, "GPIOA + 0x14"),
        ("f7", 0xA000_1008, "QUADSPI + 0x08"),
        ("h7", 0x5802_4400, "RCC + 0x00"),
        ("h7", 0x4002_3800, None),
        ("l4", 0x4002_1008, "RCC + 0x08"),
        ("l4", 0x4800_0400, "GPIOB + 0x00"),
        ("f4", 0x3FFF_FFFF, None),
        ("", 0x4002_3800, None),
    ],
)
def test_block_at(family: str, address: int, name: str | None) -> None:
    assert block_at(family, address) == name


@pytest.mark.parametrize("family", families())
def test_blocks_do_not_overlap(family: str) -> None:
    blocks = blocks_in(family)
    assert len(blocks) > 60
    for (_, end, name), (base, _, other) in pairwise(blocks):
        assert end <= base, (name, other)


@pytest.mark.parametrize(
    ("family", "irq", "name"),
    [
        ("f4", 91, "QUADSPI"),
        ("f4", 92, ""),
        ("f7", 92, "QUADSPI"),
        ("f7", 81, ""),
        ("h7", 122, "MDMA"),
        ("l4", 1, None),
    ],
)
def test_lines_have_the_vendor_s_names(family: str, irq: int, name: str | None) -> None:
    assert line_name(family, irq) == name


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (0xE000_ED08, "VTOR"),
        (0xE000_ED8A, "CPACR + 2"),
        (0xE000_1004, "DWT_CYCCNT"),
        (0xE000_0000, "ITM_STIM0"),
        (0xE000_007C, "ITM_STIM31"),
        (0xE000_0080, "ITM + 0x080"),
        (0xE000_E018, "SYST_CVR"),
        (0xE000_E104, "NVIC_ISER1"),
        (0xE000_E5EC, "NVIC_IPR123"),
        (0xE000_EF74, "DCCISW"),
        (0xE000_ED94, "MPU_CTRL"),
        (0xE000_EDFC, "DEMCR"),
        (0xE000_EFFC, "SCS + 0xffc"),
        (0xE000_3000, None),
        (0xDFFF_FFFF, None),
        (0xE010_0000, None),
    ],
)
def test_register_at(address: int, name: str | None) -> None:
    assert register_at(address) == name


def test_family_by_name_or_title() -> None:
    families = {name: family_of(load_machine(name)) for name in ("stm32f469i-disco", "nucleo-f767zi", "nucleo-h743zi")}
    assert families == {"stm32f469i-disco": "f4", "nucleo-f767zi": "f7", "nucleo-h743zi": "h7"}
    board = load_machine("nucleo-l4r5zi")
    assert family_of(board) == "l4"
    assert family_of(replace(board, part="", name="mine", title="an STM32L4R5 of ours")) == "l4"
    assert family_of(replace(board, part="", name="mine", title="a board")) is None


def test_the_part_decides_whatever_the_board_is_called(tmp_path: Path) -> None:
    file = tmp_path / "ours.toml"
    file.write_text('extends = "stm32f407g-disc1"\n')
    assert family_of(load_machine(file)) == "f4"  # the part of the board that it extends
    file.write_text('name = "like an stm32f746"\nextends = "nucleo-f767zi"\npart = "STM32F429ZI"\n')
    assert family_of(load_machine(file)) == "f4"
    file.write_text('extends = "nucleo-f767zi"\npart = "STM32G071RB"\n')
    with pytest.raises(MachineError, match=r"ours.toml:2.*STM32G071RB.*STM32F4, STM32F7, STM32G4, STM32H7, STM32L4"):
        load_machine(file)


def test_name_of_prefers_what_the_machine_lists(tmp_path: Path) -> None:
    machine = with_block(tmp_path)
    assert name_of(machine, 0x4000_0008) == "timer + 0x08"
    machine = load_machine("stm32f746g-disco")
    assert name_of(machine, 0x4000_0000) == "TIM2 + 0x00"
    assert name_of(machine, 0xE000_ED14) == "CCR"
    assert name_of(machine, 0x3000_0000) is None


# --- the machine file -------------------------------------------------------------------------------------------------

BLOCK = """
[peripherals.timer]
basis = "datasheet"
source = "a manual"
base = 0x4000_0000
size = "1 KiB"
[peripherals.timer.reads]
0x04 = 0x0000_00C0
[peripherals.timer.mirrors]
0x00 = { mask = 0x3, shift = 2 }
"""


def with_block(folder: Path, old: str = "", new: str = "") -> Machine:
    path = folder / "mine.toml"
    assert old in BLOCK
    path.write_text('name = "mine"\ntitle = "mine"\nextends = "nucleo-f767zi"\n' + BLOCK.replace(old, new))
    return load_machine(path)


def test_a_block_of_a_machine_file(tmp_path: Path) -> None:
    machine = with_block(tmp_path)
    assert machine.peripherals["timer"] == Peripheral("timer", 0x4000_0000, 1024, {4: 0xC0}, {0: Mirror(3, 2)})
    figure = machine.figures["peripherals.timer.reads.0x04"]
    assert (figure.text, figure.basis, figure.source) == ("0x0000_00C0", "datasheet", "a manual")
    changed = machine.replace("peripherals.timer.reads.0x04", "0xFF")
    assert changed.peripherals["timer"].reads == {4: 0xFF}


def test_a_machine_needs_no_blocks() -> None:
    assert load_machine("nucleo-f767zi").peripherals == {}


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("0x04 = ", "0x05 = ", r"mine.toml:11: peripherals.timer.reads.0x05 = 192: .*multiple of 4 such as 0x00"),
        ("0x04 = ", "4 = ", "a register's offset is"),
        ("0x04 = ", "0x004 = ", "a register's offset is"),
        ("0x04 = ", "0x400 = ", "reads.0x400.*outside the block of 1,024 B"),
        ("0x0000_00C0", "0x1_0000_0000", "must be 0 to 4294967295"),
        ("0x0000_00C0", '"busy"', "must be a whole number"),
        ("0x00 = {", "0x04 = {", "mirrors.0x04.*is in reads too"),
        ("shift = 2", "shift = 31", "must keep all bits of the mask 0x3"),
        ("shift = 2", "shift = -1", "must keep all bits of the mask 0x3"),
        ("shift = 2", "shift = 0", "and not be 0"),
        ("shift = 2", "shft = 2", 'did you mean "shift"'),
        ("base = 0x4000_0000", "base = 0x2000_0000", "must not share a page or an address with memory.dtcm"),
        ("base = 0x4000_0000", "base = 0xE000_E000", "the private peripheral bus of the core"),
        ("base = 0x4000_0000", "base = 0x4000_0002", "multiples of 4"),
        ('size = "1 KiB"', 'size = "2 MiB"', "a size here must be 4 B to 1,048,576 B"),
        ("[peripherals.timer.reads]", '[peripherals.b]\nbase = 0x4000_0200\nsize = "4 B"\n[peripherals.timer.reads]',
         "share a page or an address with peripherals.b"),
    ],
)  # fmt: skip
def test_rules_of_blocks(tmp_path: Path, old: str, new: str, rule: str) -> None:
    with pytest.raises(MachineError, match=rule):
        with_block(tmp_path, old, new)


def test_too_many_blocks(tmp_path: Path) -> None:
    many = "".join(f'[peripherals.b{n}]\nbase = {0x4000_0000 + 1024 * n}\nsize = "1 KiB"\n' for n in range(257))
    path = tmp_path / "many.toml"
    path.write_text(f'name = "many"\ntitle = "many"\nextends = "nucleo-f767zi"\n{many}')
    with pytest.raises(MachineError, match="has 257 blocks, at most 256"):
        load_machine(path)
