"""The clocks that RCC is set to, and the scale of the regulator, by part family (:mod:`mcusim.soc.families`).

Not modelled: memories have their timing at the machine's clock, and a run's time is its cycles at that clock: the
slower one before the switch is not modelled there; what RCC, PWR and others wait for takes cycles of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcusim.machine.description import Machine
from mcusim.soc.families.family import bus_divider, registers_of
from mcusim.soc.families.family_registers import AHB, APB, Clock, divided
from mcusim.soc.register_config.derived_figure import Bits, DerivedFigure
from mcusim.soc.register_config.register_writes import Registers
from mcusim.units import hertz


def _tree(r: Registers, family: str, external: int | None) -> tuple[Clock, Clock] | None:
    """The clocks of core and bus; None where RCC is not known."""
    if "RCC_CFGR" not in r:
        return None
    own = registers_of(family)
    register, low = own.core
    core = divided(own.system(r, external), AHB[r.field(register, low, 4)])
    if own.bus is None:
        return core, core
    register, low = own.bus
    return core, divided(core, AHB[r.field(register, low, 4)])


def _written(r: Registers, family: str) -> bool:
    """Whether the program has set the clocks up."""
    return r.written(*(bits.register for bits in registers_of(family).bits))


def core_clock_now(r: Registers, machine: Machine, family: str) -> int:
    """Of the core in Hz as RCC is, after a reset too; the machine's where an oscillator's clock is not known."""
    tree = _tree(r, family, machine.core.external_clock)
    return machine.core.clock if tree is None or not tree[0].hz else int(tree[0].hz)


def core_clock(r: Registers, machine: Machine, family: str) -> tuple[int, int]:
    """Of core and bus in Hz: as RCC is set, else as the machine has them."""
    tree = _tree(r, family, machine.core.external_clock) if _written(r, family) else None
    if tree is None or tree[0].hz is None or tree[1].hz is None:
        return machine.core.clock, machine.bus.clock
    return int(tree[0].hz), int(tree[1].hz)


def clock_figures(r: Registers, machine: Machine, family: str) -> Iterator[DerivedFigure]:
    """Core, bus where it has a clock of its own, and the dividers of the two peripheral buses."""
    tree = _tree(r, family, machine.core.external_clock) if _written(r, family) else None
    if tree is None:
        return
    core, bus = tree
    own = registers_of(family)
    note = core.text if core.hz is not None else f"{core.text}: the machine file has no core.external_clock"
    yield DerivedFigure("core.clock", None if core.hz is None else int(core.hz), own.bits, "MHz", note)
    if own.bus is not None and bus.hz is not None:
        divider_bits = Bits(own.bus[0], 15 << own.bus[1])
        yield DerivedFigure("bus.clock", int(bus.hz), (*own.bits, divider_bits), "MHz", bus.text)
    for name in ("apb1", "apb2"):
        register, low = bus_divider(family, name)
        divider = APB[r.field(register, low, 3)]
        note = "" if bus.hz is None else hertz(int(bus.hz / divider))
        if r.written(register):
            yield DerivedFigure(f"{name} divider", divider, (Bits(register, 7 << low),), "", note, "followed")


def regulator_figures(r: Registers, machine: Machine, family: str) -> Iterator[DerivedFigure]:
    """``core.regulator`` by the names that the machine file has for its settings."""
    names = [setting.name for setting in machine.regulator]
    pair = registers_of(family).regulator(r, names)
    if pair is not None and pair[0] in names:
        yield DerivedFigure("core.regulator", pair[0], pair[1])
