"""Where the energy of a run went: by operator and by what drew it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcusim.machine.description import Machine
from mcusim.results.energy import dma_busy_cycles, uses, waiting

if TYPE_CHECKING:
    from mcusim.engine.run import Event, Run

__all__ = ["ENERGY_COLOURS", "operator_energy"]

ENERGY_COLOURS = {
    "core running": "#6ea8dc",
    "core waiting": "#e8636f",
    "SDRAM on": "#f0954c",
    "QSPI on": "#b58be0",
    "DMA": "#5fc4a4",
    "bytes moved": "#e3b04b",
}


def operator_energy(run: Run, machine: Machine) -> dict[int, dict[str, float]]:
    """Millijoules of each operator by part, which sum to those of :func:`mcusim.results.energy.energy`.

    The terms of that formula, each for the operator's own cycles, transfers and bytes; where transfers of two operators
    overlap the DMA's time is that of the one that began first.
    """
    power, dma = machine.power, _dma_cycles(run)
    moved = _bytes(run)
    waits = power.run if power.stalled is None else power.stalled
    found = {}
    for operator in run.operators:
        seconds = operator.cycles / run.clock
        waited = waiting(operator.by_cause) / run.clock
        joules = {
            "core running": power.supply * (seconds - waited) * power.run,
            "core waiting": power.supply * waited * waits,
            "SDRAM on": power.supply * seconds * (power.sdram_active if uses(run, machine, "sdram") else 0.0),
            "QSPI on": power.supply * seconds * (power.qspi_active if uses(run, machine, "qspi") else 0.0),
            "DMA": power.supply * power.dma_active * dma.get(operator.index, 0) / run.clock,
            "bytes moved": sum(
                n * power.energy_per_byte.get(region, 0.0) for region, n in moved.get(operator.index, {}).items()
            ),
        }
        found[operator.index] = {part: 1e3 * amount for part, amount in joules.items()}
    return found


def _bytes(run: Run) -> Mapping[int, Mapping[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for event in run.events:
        own = found.setdefault(event.operator, {})
        for region, n in event.moved.items():
            own[region] = own.get(region, 0) + n
    return found


def _dma_cycles(run: Run) -> dict[int, int]:
    """Cycles of :func:`mcusim.results.energy.dma_busy_cycles` by operator."""
    reached: dict[str, int] = {}
    found: dict[int, int] = {}
    transfers: list[Event] = [event for event in run.events if event.kind == "transfer"]
    for event in sorted(transfers, key=lambda e: (e.start, e.end)):
        controller = event.lane.partition(".")[0]
        before = reached.get(controller, 0)
        found[event.operator] = found.get(event.operator, 0) + max(0, event.end - max(event.start, before))
        reached[controller] = max(before, event.end)
    assert sum(found.values()) == dma_busy_cycles(transfers)
    return found
