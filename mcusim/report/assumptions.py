"""What a result rests on beyond data sheets and measurements."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from mcusim.machine.description import Figure, Machine
from mcusim.report.energy import uses

if TYPE_CHECKING:
    from mcusim.engine.run import Run

__all__ = ["assumptions", "machine_assumptions"]


def assumptions(run: Run, machine: Machine) -> tuple[str, ...]:
    """Every machine figure with basis ``assumed`` or ``calibrated`` that the run rests on, then which external memory's
    energy the machine does not give, then what the engine and the model say (kernel profile, random weights,
    warnings), without repetitions.

    A region counts when the program keeps bytes there or the run moved bytes there, a DMA controller when it moved
    any, a power figure when :func:`~mcusim.report.energy.energy` uses it, cache maintenance when there was some. Core,
    bus and the other cache figures always count.

    Leaves out figures of devices the run does not touch, and those with basis ``datasheet`` or ``measured``.
    """
    lines = [_line(figure) for figure in machine.figures.values() if _counts(figure, run, machine)]
    lines += _no_energy(run, machine)
    lines += run.assumptions
    if run.header.random_weights:
        lines.append("random weights: the network's architecture is published, its weights are seeded random numbers")
    lines += run.header.warnings
    return tuple(dict.fromkeys(lines))


def machine_assumptions(machine: Machine, regions: Collection[str], maintained: bool) -> tuple[str, ...]:
    """Every figure with basis ``assumed`` or ``calibrated`` that the cycles of a program on the core rest on.

    ``regions`` are those it used, ``maintained`` says whether it cleaned or invalidated caches. Leaves out DMA and
    power, which such a run does not have, and the words that peripherals read, which cost nothing.
    """

    def counts(figure: Figure) -> bool:
        table, _, rest = figure.key.partition(".")
        if figure.basis not in ("assumed", "calibrated") or table in ("dma", "power", "peripherals"):
            return False
        if table == "memory":
            return rest.partition(".")[0] in regions
        return maintained or not figure.key.endswith(".maintenance")

    return tuple(_line(figure) for figure in machine.figures.values() if counts(figure))


def _line(figure: Figure) -> str:
    source = f": {figure.source}" if figure.source else ""
    return f"{figure.key} = {figure.text} ({figure.basis}{source})"


def _counts(figure: Figure, run: Run, machine: Machine) -> bool:
    if figure.basis not in ("assumed", "calibrated"):
        return False
    table, _, rest = figure.key.partition(".")
    name = rest.partition(".")[0]
    if table == "memory":
        unused = machine.memory[name].alias_port and ".accelerator." in rest  # a replay reads nothing through an alias
        return name in set(_regions(run)) and not unused
    if table == "peripherals":
        return False  # only a program that runs instruction by instruction reads them
    if table == "dma":
        return any(lane.partition(".")[0] == name for lane in run.busy)
    if table == "power":
        return _power_counts(name, rest, run, machine)
    return not figure.key.endswith(".maintenance") or bool(run.by_cause.get("maintenance"))


def _power_counts(name: str, rest: str, run: Run, machine: Machine) -> bool:
    if name == "energy_per_byte":
        return rest.partition(".")[2] in set(_regions(run))
    if name in ("sdram_active", "qspi_active"):
        return uses(run, machine, "sdram" if name == "sdram_active" else "qspi")
    if name == "dma_active":
        return any(event.kind == "transfer" for event in run.events)
    return True


def _no_energy(run: Run, machine: Machine) -> Iterator[str]:
    """External memories that the run uses and whose current or energy of accesses the power table leaves at nothing."""
    power = machine.power
    currents = {"sdram": power.sdram_active, "qspi": power.qspi_active}
    used = [region for name, region in machine.memory.items() if name in set(_regions(run)) and region.kind in currents]
    for kind in dict.fromkeys(region.kind for region in used):
        if not currents[kind]:
            yield f"power.{kind}_active = 0 A: the memory's current is not in the energy"
    for region in used:
        if region.name not in power.energy_per_byte:
            yield f"power.energy_per_byte has no {region.name}: its accesses are not in the energy"
        elif not power.energy_per_byte[region.name]:
            yield f"power.energy_per_byte.{region.name} = 0 J: its accesses are not in the energy"


def _regions(run: Run) -> Iterator[str]:
    yield from (name for name, traffic in run.traffic.items() if traffic.total)
    yield from (name for name, bytes in run.header.peak_bytes.items() if bytes)
