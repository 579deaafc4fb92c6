"""What the program on a core has set up, next to what a machine says.

Not modelled: when a figure changed; it is what registers hold at the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING

from mcusim.cpu.register_config.core_registers import core_rows
from mcusim.cpu.register_config.derived_figure import Bits, DerivedFigure, Value, text_of
from mcusim.cpu.register_config.memories import flash_figures, qspi_figures, sdram_figures
from mcusim.cpu.register_config.rcc_decode import clock_figures, core_clock, regulator_figures
from mcusim.cpu.register_config.register_writes import Registers, RegisterWrite
from mcusim.cpu.register_config.row import SetUpRow
from mcusim.cpu.system.register_names import family_of
from mcusim.machine.clock_rules import regulator_scale
from mcusim.machine.description import Duration, Machine

if TYPE_CHECKING:
    from mcusim.cpu.core_state import GuestCore

__all__ = ["firmware_set_up"]


def firmware_set_up(core: GuestCore, machine: Machine) -> tuple[SetUpRow, ...]:
    """A row for each figure that the program on ``core`` has set up, compared with those of ``machine``."""
    registers, family = Registers(core.peripherals.blocks, core.peripherals.writes), family_of(machine)
    rows = (
        [] if family is None else [_row(figure, registers, machine) for figure in _figures(registers, machine, family)]
    )
    return (*rows, *core_rows(core))


def _figures(registers: Registers, machine: Machine, family: str) -> Iterator[DerivedFigure]:
    _, bus = core_clock(registers, machine, family)
    yield from clock_figures(registers, machine, family)
    yield from regulator_figures(registers, machine, family)
    yield from flash_figures(registers, machine, family)
    yield from sdram_figures(registers, machine, bus)
    yield from qspi_figures(registers, machine, bus)


def _row(figure: DerivedFigure, registers: Registers, machine: Machine) -> SetUpRow:
    register, write = _place(figure.bits, registers)
    known = figure.effect == "figure" and (figure.key in machine.figures or figure.key == "core.regulator")
    own = _of_machine(machine, figure.key) if known else None
    text = regulator_scale(machine, machine.core.clock) if figure.key == "core.regulator" else None
    if known and text is None:
        text = machine.figures[figure.key].text
    differs = known and figure.value is not None and not _same(figure.value, own, _device_clock(machine, figure.key))
    return SetUpRow(
        key=figure.key,
        value=text_of(figure.value, figure.unit),
        machine=text if known else None,
        differs=differs,
        register=register,
        word=registers[register],
        pc=None if write is None else write.pc,
        cycle=None if write is None else write.cycle,
        note=figure.note,
        effect="none" if figure.effect == "figure" and not known else figure.effect,
        settable=known and figure.value is not None,
    )


def _place(bits: tuple[Bits, ...], registers: Registers) -> tuple[str, RegisterWrite | None]:
    """The register whose store came last, and that store."""
    pairs = [(bit.register, registers.last(bit.register, bit.mask)) for bit in bits if bit.register in registers]
    written = [(register, write) for register, write in pairs if write is not None]
    return max(written, key=lambda pair: pair[1].cycle) if written else pairs[0]


def _of_machine(machine: Machine, key: str) -> object:
    if key == "core.regulator":
        return regulator_scale(machine, machine.core.clock)
    table, _, rest = key.partition(".")
    if table == "memory":
        name, _, rest = rest.partition(".")
        return reduce(getattr, rest.split("."), machine.memory[name].device)
    return getattr(getattr(machine, table), rest)


def _device_clock(machine: Machine, key: str) -> int:
    name = key.split(".")[1]
    device = machine.memory[name].device if name in machine.memory else None
    return int(getattr(device, "clock", machine.bus.clock))


def _same(value: Value, own: object, device_hz: int) -> bool:
    """Durations by whole clocks of their device, so that a time may be compared with a count."""
    if isinstance(value, Duration) and isinstance(own, Duration):
        a, b = (duration.cycles(device_hz, device_hz) for duration in (value, own))
        return round(a) == round(b)
    return value == own
