"""What the program on a core has set up, next to what a machine says: clocks, memories, caches and MPU regions.

Arm DDI0403: CCR.IC and DC, MPU_CTRL, MPU_RBAR and MPU_RASR; the emulated core follows these from the store on. Not
modelled: when a figure changed, and what the program set up and took back; it is what registers hold at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Literal

from mcusim.cpu.system import ppb, ppb_words
from mcusim.cpu.system.mpu import MpuRegion
from mcusim.machine.clock_rules import regulator_scale
from mcusim.machine.cores import core_named
from mcusim.machine.description import Duration, Machine
from mcusim.soc.families.family import family_of
from mcusim.soc.register_config.derived_figure import Bits, DerivedFigure, Value, text_of
from mcusim.soc.register_config.memory_registers import flash_figures, qspi_figures, sdram_figures
from mcusim.soc.register_config.rcc_decode import clock_figures, core_clock, regulator_figures
from mcusim.soc.register_config.register_writes import Registers, RegisterWrite
from mcusim.text import size

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore

CACHES = (("cache.data", 16), ("cache.instruction", 17))  # bits in CCR
_POLICY = ("uncached", "write-through", "write-back")
_ACCESS = {"none": "no access", "ro": "read only", "rw": "read and write"}


@dataclass(frozen=True, slots=True)
class SetUpRow:
    """``key`` of the machine file, or a name where that has none; ``value`` as the firmware has it, and ``machine`` as
    the machine has it, None for no such key; both as the file writes them. ``differs``: they are not the same.

    ``register`` holds ``word`` since the store at ``pc`` in core cycle ``cycle``; None where that is not known (it is
    as after a reset). ``effect``: ``figure`` of the machine that the run uses, ``followed`` at run time, ``none``: not
    modelled. ``settable``: the machine can be given the value.
    """

    key: str
    value: str
    machine: str | None
    differs: bool
    register: str
    word: int
    pc: int | None
    cycle: int | None
    note: str
    effect: Literal["figure", "followed", "none"]
    settable: bool = False


def firmware_set_up(core: GuestCore, machine: Machine) -> tuple[SetUpRow, ...]:
    """A row for each figure that the program on ``core`` has set up, compared with those of ``machine``."""
    registers, family = Registers(core.peripherals.blocks, core.peripherals.writes), family_of(machine)
    rows = (
        [] if family is None else [_row(figure, registers, machine) for figure in _figures(registers, machine, family)]
    )
    return (*rows, *_core_rows(core))


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


def _core_rows(core: GuestCore) -> Iterator[SetUpRow]:
    """A row for each cache of the machine, and each MPU region that is on."""
    yield from _caches(core)
    mpu = ppb.mpu_registers(core.ppb_words.array, core.state)
    if not core.state.mpu_ctrl_pc and not mpu.enabled:
        return
    text = "on" if mpu.enabled else "off"
    text += ", default map behind it" if mpu.enabled and mpu.default_map else ""
    pc = core.state.mpu_ctrl_pc or None
    yield SetUpRow("MPU", text, None, False, "MPU_CTRL", mpu.control, pc, None, "", "followed")
    for number, pair in enumerate(mpu.regions):
        region = MpuRegion(*pair)
        if region.enabled:
            pc = core.state.mpu_pc[number] or None
            yield SetUpRow(
                f"MPU region {number}", _region(region), None, False, "MPU_RASR", region.rasr, pc, None, "", "followed"
            )


def _caches(core: GuestCore) -> Iterator[SetUpRow]:
    if not core_named(core.machine.core.isa).cache_control:
        return
    word = ppb_words.word(core.ppb_words, ppb.CCR)
    pc = core.state.ccr_pc or None
    for (key, bit), cache in zip(CACHES, (core.machine.data_cache, core.machine.instruction_cache), strict=True):
        if cache is not None and cache.size:
            on = bool(word >> bit & 1)
            note = "" if on or pc else "never switched on"
            yield SetUpRow(
                key, "on" if on else "off", size(cache.size), not on, "SCB_CCR", word, pc, None, note, "followed"
            )


def _region(region: MpuRegion) -> str:
    """Place, size, kind and rights."""
    about = region.attributes()
    kind = "device" if about.device else _POLICY[about.cache]
    code = "" if about.executable else ", no code"
    off = f", subregions {region.rasr >> 8 & 0xFF:08b} off" if region.rasr & 0xFF00 and region.size >= 256 else ""
    return f"{region.base:#010x} {size(region.size)} {kind}, {_ACCESS[about.privileged]}{code}{off}"
