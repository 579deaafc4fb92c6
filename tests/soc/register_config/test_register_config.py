"""Register values as figures of a machine file: each field on its own, clock trees by hand, places of the stores."""

from __future__ import annotations

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.emulator.register_config import SetUpRow, firmware_set_up
from mcusim.machine import Machine, load_machine

F7 = load_machine("stm32f746g-disco")
RCC, FLASH, PWR, FMC, QSPI = 0x4002_3800, 0x4002_3C00, 0x4000_7000, 0xA000_0000, 0xA000_1000
SDCR1, SDCR2, SDTR1, SDTR2, SDCMR, SDRTR = (FMC + at for at in (0x140, 0x144, 0x148, 0x14C, 0x150, 0x154))
# ST's board driver: 8 columns, 12 rows, 16 bit, 4 banks, CAS 3, HCLK / 2, RBURST
CONTROL = 1 << 2 | 1 << 4 | 1 << 6 | 3 << 7 | 2 << 10 | 1 << 12
TIMING = (
    1 | 6 << 4 | 3 << 8 | 6 << 12 | 2 << 16 | 1 << 20 | 1 << 24
)  # TMRD 2, TXSR 7, TRAS 4, TRC 7, TWR 3, TRP 2, TRCD 2


def rows(machine: Machine, *stores: tuple[int, int]) -> dict[str, SetUpRow]:
    """What is found after ``stores`` of words to addresses, caches aside."""
    emulator = Emulator(machine)
    for address, word in stores:
        emulator.peripherals.store(address, 4, word)
    return {row.key: row for row in firmware_set_up(emulator, machine) if not row.key.startswith("cache.")}


def values(machine: Machine, *stores: tuple[int, int]) -> dict[str, str]:
    return {key: row.value for key, row in rows(machine, *stores).items()}


SDRAM = {
    "memory.sdram.columns": "256",
    "memory.sdram.rows": "4096",
    "memory.sdram.width": "16 bit",
    "memory.sdram.banks": "4",
    "memory.sdram.timing.CL": "3 sdclk",
    "memory.sdram.clock": "108 MHz",
    "memory.sdram.read_burst": "true",
    "memory.sdram.read_pipe": "0 hclk",
    "TMRD of the SDRAM": "2 sdclk",
    "TXSR of the SDRAM": "7 sdclk",
    "memory.sdram.timing.tRAS": "4 sdclk",
    "memory.sdram.timing.tRC": "7 sdclk",
    "memory.sdram.timing.tWR": "3 sdclk",
    "memory.sdram.timing.tRP": "2 sdclk",
    "memory.sdram.timing.tRCD": "2 sdclk",
    "memory.sdram.timing.refresh": "1540 sdclk",
}


def test_an_sdram_as_a_board_driver_sets_it_up() -> None:
    found = rows(F7, (SDCR1, CONTROL), (SDTR1, TIMING), (SDRTR, 1539 << 1))
    assert {key: row.value for key, row in found.items()} == SDRAM
    differing = {"timing.CL", "timing.tRC", "timing.tWR", "timing.refresh"}
    assert {key for key, row in found.items() if row.differs} == {f"memory.sdram.{key}" for key in differing}
    assert found["memory.sdram.timing.tRC"].machine == "6 sdclk" and found["TXSR of the SDRAM"].effect == "none"


@pytest.mark.parametrize(
    ("register", "base", "low", "step", "key", "below", "above"),
    [
        (SDCR1, CONTROL | 1, 0, 1, "columns", "256", "1024"),
        (SDCR1, CONTROL, 2, 1, "rows", "2048", "8192"),
        (SDCR1, CONTROL, 4, 1, "width", "8 bit", "32 bit"),
        (SDCR1, CONTROL & ~(1 << 7), 7, 1, "timing.CL", "1 sdclk", "3 sdclk"),
        (SDCR1, CONTROL | 1 << 13, 13, 1, "read_pipe", "0 hclk", "2 hclk"),
        (SDTR1, TIMING, 8, 1, "timing.tRAS", "3 sdclk", "5 sdclk"),
        (SDTR1, TIMING, 12, 1, "timing.tRC", "6 sdclk", "8 sdclk"),
        (SDTR1, TIMING, 16, 1, "timing.tWR", "2 sdclk", "4 sdclk"),
        (SDTR1, TIMING, 20, 1, "timing.tRP", "1 sdclk", "3 sdclk"),
        (SDTR1, TIMING, 24, 1, "timing.tRCD", "1 sdclk", "3 sdclk"),
        (SDRTR, 1539 << 1, 1, 1, "timing.refresh", "1539 sdclk", "1541 sdclk"),
    ],
)
def test_each_field_changes_its_figure_alone(
    register: int, base: int, low: int, step: int, key: str, below: str, above: str
) -> None:
    start = [(SDCR1, CONTROL), (SDTR1, TIMING), (SDRTR, 1539 << 1)]
    plain = values(F7, *start, (register, base))
    for word, wanted in ((base - (step << low), below), (base + (step << low), above)):
        found = values(F7, *start, (register, word))
        assert found.pop(f"memory.sdram.{key}") == wanted
        assert found.items() <= plain.items()


def test_bank_2_has_clock_and_two_timings_of_bank_1() -> None:
    own = 5 << 24 | 5 << 20 | 5 << 16 | 5 << 12 | 5 << 8 | 5 << 4 | 5
    stores = [(SDCR1, 3 << 10), (SDCR2, CONTROL | 1), (SDTR1, TIMING), (SDTR2, own), (SDCMR, 1 << 3 | 1)]
    found = values(F7, *stores)
    assert found["memory.sdram.clock"] == "72 MHz" and found["memory.sdram.columns"] == "512"
    timing = [found[f"memory.sdram.timing.{key}"] for key in ("tRC", "tRP", "tRAS", "tWR", "tRCD")]
    assert timing == ["7 sdclk", "2 sdclk", "6 sdclk", "6 sdclk", "6 sdclk"]
    assert values(F7, *stores, (SDCMR, 1 << 4 | 1))["memory.sdram.columns"] == "256"  # commands to bank 1: that


HSE_PLL = 25 | 432 << 6 | 1 << 22
L4, H7 = load_machine("nucleo-l4r5zi"), load_machine("nucleo-h743zi")
L4_RCC, H7_RCC = 0x4002_1000, 0x5802_4400


@pytest.mark.parametrize(
    ("machine", "stores", "clock"),
    [
        (F7, [(RCC + 4, HSE_PLL), (RCC + 8, 2)], "216 MHz"),
        (F7, [(RCC + 4, HSE_PLL | 1 << 16), (RCC + 8, 2)], "108 MHz"),
        (F7, [(RCC + 4, HSE_PLL ^ 1 << 22 ^ 25 ^ 16), (RCC + 8, 2)], "216 MHz"),  # HSI / 16
        (F7, [(RCC + 4, HSE_PLL), (RCC + 8, 2 | 8 << 4)], "108 MHz"),
        (F7, [(RCC + 4, HSE_PLL), (RCC + 8, 2 | 15 << 4)], "0.421875 MHz"),
        (F7, [(RCC + 8, 1)], "25 MHz"),
        (F7, [(RCC + 8, 0)], "16 MHz"),
        (load_machine("stm32f469i-disco"), [(RCC + 4, 8 | 360 << 6 | 1 << 22), (RCC + 8, 2)], "180 MHz"),
        (load_machine("stm32f469i-disco"), [(RCC + 4, 8 | 360 << 6 | 1 << 22 | 6 << 28), (RCC + 8, 3)], "60 MHz"),
        (L4, [(L4_RCC + 12, 1 | 60 << 8 | 1 << 24), (L4_RCC + 8, 3)], "120 MHz"),
        (L4, [(L4_RCC, 0x8 | 11 << 4), (L4_RCC + 8, 0)], "48 MHz"),
        (L4, [(L4_RCC, 11 << 4), (L4_RCC + 8, 0)], "4 MHz"),  # MSIRGSEL is 0
        (H7, [(H7_RCC + 0x28, 1 << 4 | 2), (H7_RCC + 0x30, 119 | 1 << 9), (H7_RCC + 0x10, 3)], "480 MHz"),
        (H7, [(H7_RCC + 0x18, 8 << 8), (H7_RCC + 0x10, 0)], "32 MHz"),
    ],
)
def test_the_core_clock_by_hand(machine: Machine, stores: list[tuple[int, int]], clock: str) -> None:
    assert values(machine, *stores)["core.clock"] == clock


def test_buses_and_regulator() -> None:
    found = rows(F7, (PWR, 3 << 14 | 3 << 16), (RCC + 4, HSE_PLL), (RCC + 8, 2 | 5 << 10 | 4 << 13))
    assert [(found[f"apb{n} divider"].value, found[f"apb{n} divider"].note) for n in (1, 2)] == [
        ("4", "54 MHz"),
        ("2", "108 MHz"),
    ]
    assert found["core.regulator"].value == "scale1-over-drive"
    assert values(F7, (PWR, 2 << 14 | 3 << 16))["core.regulator"] == "scale2"
    h7 = values(H7, (H7_RCC + 0x28, 1 << 4 | 2), (H7_RCC + 0x18, 8), (H7_RCC + 0x10, 3))
    assert h7["bus.clock"] == "258 MHz"  # 8 MHz x 129 / 2 / 2: the reset values of the PLL


def test_without_the_oscillators_clock_it_is_unknown() -> None:
    found = rows(L4, (L4_RCC + 8, 2))["core.clock"]
    assert (found.value, found.settable, found.differs) == ("unknown", False, False)
    assert "core.external_clock" in found.note
    assert values(L4.replace("core.external_clock", "8 MHz"), (L4_RCC + 8, 2))["core.clock"] == "8 MHz"


def test_flash_and_its_accelerator() -> None:
    found = rows(F7, (FLASH, 7 | 1 << 9))
    assert found["memory.flash.wait_states"].value == "7" and found["memory.flash.wait_states"].differs
    assert not found["memory.flash.accelerator.prefetch"].differs
    assert values(F7, (FLASH, 7))["memory.flash.accelerator.instruction_lines"] == "0"


def test_a_memory_mapped_qspi() -> None:
    read = 3 << 26 | 3 << 24 | 8 << 18 | 3 << 12 | 3 << 10 | 3 << 8
    found = values(F7, (QSPI, 3 << 24), (QSPI + 4, 5 << 8), (QSPI + 0x14, read), (QSPI + 0x14, 1 << 26))
    assert {key.removeprefix("memory.qspi."): value for key, value in found.items()} == {
        "clock": "54 MHz", "cs_high": "6", "instruction_lines": "4", "address_lines": "4", "data_lines": "4",
        "address_bits": "32", "dummy": "8",
    }  # fmt: skip


def test_nothing_set_up_is_nothing_found() -> None:
    assert rows(F7) == {}
    assert values(F7, (RCC + 0x30, 1)) == {}  # a clock of a port
