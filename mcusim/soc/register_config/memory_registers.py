"""Flash, SDRAM and QUADSPI as FLASH_ACR, the FMC's and QUADSPI's registers are set.

ST RM0385 and RM0386: FLASH_ACR, FMC_SDCR, FMC_SDTR, FMC_SDRTR, QUADSPI_CR, DCR, CCR; the fields of FLASH_ACR of RM0432
and RM0433 likewise. Of bank 2 the SDCLK, RBURST, RPIPE, tRC and tRP are those of the registers of bank 1. The time
between two refreshes is COUNT + 1 SDRAM clocks.

Not modelled: NOR, PSRAM and NAND; kernel clocks of the H7 other than the bus clock; the L4+'s OCTOSPI.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcusim.machine.description import DeviceKind, Flash, Machine, Region
from mcusim.soc.families.family import registers_of
from mcusim.soc.register_config.derived_figure import Bits, DerivedFigure, Value, clocks
from mcusim.soc.register_config.register_writes import Registers


def _region(machine: Machine, kind: DeviceKind) -> Region | None:
    return next((region for region in machine.memory.values() if region.kind == kind), None)


def flash_figures(r: Registers, machine: Machine, family: str) -> Iterator[DerivedFigure]:
    """Wait states, prefetch and the lines of the accelerator that are on."""
    region = _region(machine, "flash")
    if region is None or not isinstance(region.device, Flash) or not r.written("FLASH_ACR"):
        return
    word, table = r["FLASH_ACR"], f"memory.{region.name}"
    yield DerivedFigure(f"{table}.wait_states", word & 15, (Bits("FLASH_ACR", 15),), note="LATENCY")
    accelerator = region.device.accelerator
    lines = registers_of(family).flash_lines
    if accelerator is None or lines is None:
        return
    yield DerivedFigure(
        f"{table}.accelerator.prefetch", bool(word >> 8 & 1), (Bits("FLASH_ACR", 1 << 8),), note="PRFTEN"
    )
    for name, bit, called in lines:
        count = getattr(accelerator, name) if word >> bit & 1 else 0
        yield DerivedFigure(f"{table}.accelerator.{name}", count, (Bits("FLASH_ACR", 1 << bit),), note=called)


# in FMC_SDTR: lowest bit, name, key of the machine file
_TIMING = (
    (0, "TMRD", ""),
    (4, "TXSR", ""),
    (8, "TRAS", "tRAS"),
    (12, "TRC", "tRC"),
    (16, "TWR", "tWR"),
    (20, "TRP", "tRP"),
    (24, "TRCD", "tRCD"),
)
_OF_BANK_1 = ("TRC", "TRP")
BANK_1, BANK_2 = 1 << 4, 1 << 3  # in SDCMR


def _bank(r: Registers) -> int:
    """That of which the commands were; the one that has been set up where there were none."""
    commanded = 0
    for word in r.stored("FMC_SDCMR"):
        commanded |= word & (BANK_1 | BANK_2)
    if commanded:
        return 1 if commanded & BANK_1 else 2
    return 2 if r.written("FMC_SDTR2") and not r.written("FMC_SDTR1") else 1


def sdram_figures(r: Registers, machine: Machine, bus: int) -> Iterator[DerivedFigure]:
    """Geometry, clock and timing of the bank in use; ``bus`` is the FMC's clock in Hz."""
    if "FMC_SDCR1" not in r or not r.written("FMC_SDCR1", "FMC_SDCR2", "FMC_SDTR1", "FMC_SDTR2", "FMC_SDRTR"):
        return
    region, bank = _region(machine, "sdram"), _bank(r)
    table = "memory.sdram" if region is None else f"memory.{region.name}"
    yield from _control(r, table, f"FMC_SDCR{bank}", bus)
    for low, name, key in _TIMING:
        register = "FMC_SDTR1" if name in _OF_BANK_1 else f"FMC_SDTR{bank}"
        count, bits = clocks(r.field(register, low, 4) + 1), (Bits(register, 15 << low),)
        if key:
            yield DerivedFigure(f"{table}.timing.{key}", count, bits, "sdclk", name)
        else:
            yield DerivedFigure(f"{name} of the SDRAM", count, bits, "sdclk", effect="none")
    if r.written("FMC_SDRTR"):
        interval = clocks(r.field("FMC_SDRTR", 1, 13) + 1)
        yield DerivedFigure(f"{table}.timing.refresh", interval, (Bits("FMC_SDRTR", 0x3FFE),), "sdclk", "COUNT + 1")


def _control(r: Registers, table: str, register: str, bus: int) -> Iterator[DerivedFigure]:
    def figure(key: str, value: Value, where: str, low: int, bits: int, unit: str, note: str) -> DerivedFigure:
        return DerivedFigure(f"{table}.{key}", value, (Bits(where, ((1 << bits) - 1) << low),), unit, note)

    yield figure("columns", 1 << 8 + r.field(register, 0, 2), register, 0, 2, "", "NC")
    yield figure("rows", 1 << 11 + r.field(register, 2, 2), register, 2, 2, "", "NR")
    yield figure("width", 8 << r.field(register, 4, 2), register, 4, 2, "bit", "MWID")
    yield figure("banks", 4 if r.field(register, 6, 1) else 2, register, 6, 1, "", "NB")
    yield figure("timing.CL", clocks(r.field(register, 7, 2)), register, 7, 2, "sdclk", "CAS")
    first, divider = "FMC_SDCR1", r.field("FMC_SDCR1", 10, 2)
    clock = bus // divider if divider >= 2 else None
    note = f"SDCLK: bus clock / {divider}" if clock else "SDCLK: off"
    yield figure("clock", clock, first, 10, 2, "MHz", note)
    yield figure("read_burst", bool(r.field(first, 12, 1)), first, 12, 1, "", "RBURST")
    yield figure("read_pipe", clocks(r.field(first, 13, 2)), first, 13, 2, "hclk", "RPIPE")


MAPPED = 3  # CCR.FMODE
LINES = (0, 1, 2, 4)


def qspi_figures(r: Registers, machine: Machine, bus: int) -> Iterator[DerivedFigure]:
    """Clock, and the command of the memory-mapped mode; ``bus`` is QUADSPI's clock in Hz."""
    region = _region(machine, "qspi")
    if region is None or "QUADSPI_CR" not in r or not r.written("QUADSPI_CR"):
        return
    table, divider = f"memory.{region.name}", r.field("QUADSPI_CR", 24, 8) + 1
    note = f"PRESCALER: bus clock / {divider}"
    yield DerivedFigure(f"{table}.clock", bus // divider, (Bits("QUADSPI_CR", 0xFF << 24),), "MHz", note)
    if r.written("QUADSPI_DCR"):
        high = r.field("QUADSPI_DCR", 8, 3) + 1
        yield DerivedFigure(f"{table}.cs_high", high, (Bits("QUADSPI_DCR", 7 << 8),), note="CSHT")
    command = next((word for word in r.stored("QUADSPI_CCR") if word >> 26 & 3 == MAPPED), None)
    if command is not None:
        yield from _command(table, command)


def _command(table: str, word: int) -> Iterator[DerivedFigure]:
    alternate = LINES[word >> 14 & 3]
    dummy = (word >> 18 & 31) + (8 * ((word >> 16 & 3) + 1) // alternate if alternate else 0)
    for key, value, mask, note in (
        ("instruction_lines", LINES[word >> 8 & 3], 3 << 8, "IMODE"),
        ("address_lines", LINES[word >> 10 & 3], 3 << 10, "ADMODE"),
        ("data_lines", LINES[word >> 24 & 3], 3 << 24, "DMODE"),
        ("address_bits", 8 * ((word >> 12 & 3) + 1), 3 << 12, "ADSIZE"),
        ("dummy", dummy, 31 << 18 | 15 << 14, "DCYC and alternate bytes"),
    ):
        yield DerivedFigure(f"{table}.{key}", value, (Bits("QUADSPI_CCR", mask),), note=note)
