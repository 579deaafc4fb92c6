"""Energy of a run: the machine's power table times what the run recorded, in total, by operator and by consumer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcusim.machine.description import DeviceKind, Machine, Power

if TYPE_CHECKING:
    from mcusim.engine.run import Event, Run

_WAITS = ("sram", "sdram", "qspi", "bus")


@dataclass(frozen=True, slots=True)
class Energy:
    """``supply_current_ma`` is the mean current at the supply voltage of the machine's power table."""

    latency_ms: float
    energy_mj: float
    supply_current_ma: float


@dataclass(frozen=True, slots=True)
class Usage:
    """What energy depends on besides the power table: ``seconds`` that it took, the kinds of ``external`` memory in use
    (``sdram``, ``qspi``), bytes ``moved`` by region, seconds that the ``dma`` was busy and that the core ``waited``."""

    seconds: float
    external: Collection[str] = ()
    moved: Mapping[str, int] = field(default_factory=dict)
    dma: float = 0.0
    waited: float = 0.0


def energy(run: Run, machine: Machine) -> Energy:
    """Energy that the supply delivers during ``run``, with the currents and energies of ``machine.power``.

    ::

        t     = cycles / clock
        E     = V x ((t - t_wait) x run + t_wait x stalled)
              + V x t x ([sdram_active if used] + [qspi_active if used])
              + V x t_dma x dma_active
              + sum over regions: bytes moved x energy_per_byte
        I     = E / (V x t)

    ``t_wait`` is the time the core waits for data (causes sram, sdram, qspi and bus; not flash, whose waits are in
    what ``run`` was measured with); a machine that does not say ``stalled`` draws ``run`` then, too. ``t_dma`` is the
    time with at least one transfer of a DMA controller in progress, summed over controllers. SDRAM and QSPI count as
    used when the program keeps a buffer there or the run moved bytes there. A run of zero cycles has zero energy and
    current.

    The currents are those at the machine's clocks (:mod:`mcusim.machine.currents`);
    :mod:`mcusim.results.duty` adds sleep.

    Not modelled: start-up (copying weights to SDRAM), temperature and supply spread, the dependence of the
    core's current on its instruction mix (polling for a DMA counts as running), and the difference between reads and
    writes of a region.
    """
    return delivered(machine, usage(run, machine))


def usage(run: Run, machine: Machine) -> Usage:
    """What of ``run`` its energy depends on; of ``machine`` it takes what the memories are, nothing of ``power``."""
    kinds: tuple[DeviceKind, ...] = ("sdram", "qspi")
    return Usage(
        seconds=run.cycles / run.clock,
        external=[kind for kind in kinds if uses(run, machine, kind)],
        moved={region: traffic.total for region, traffic in run.traffic.items()},
        dma=run.dma_busy / run.clock,
        waited=waiting(run.by_cause) / run.clock,
    )


def waiting(by_cause: Mapping[str, int]) -> int:
    """Cycles that the core waits for data."""
    return sum(by_cause.get(cause, 0) for cause in _WAITS)


def delivered(machine: Machine, usage: Usage) -> Energy:
    """The formula of :func:`energy` for whatever ``usage`` says."""
    return delivered_by(machine.power, usage)


def delivered_by(power: Power, usage: Usage) -> Energy:
    """:func:`delivered` with the currents of ``power``."""
    current = power.run
    current += power.sdram_active if "sdram" in usage.external else 0.0
    current += power.qspi_active if "qspi" in usage.external else 0.0
    joules = power.supply * usage.seconds * current
    joules += power.supply * power.dma_active * usage.dma
    if power.stalled is not None:
        joules -= power.supply * (power.run - power.stalled) * usage.waited
    joules += sum(bytes * power.energy_per_byte.get(region, 0.0) for region, bytes in usage.moved.items())
    mean = joules / (power.supply * usage.seconds) if usage.seconds else 0.0
    return Energy(latency_ms=1e3 * usage.seconds, energy_mj=1e3 * joules, supply_current_ma=1e3 * mean)


def with_peripherals(of: Energy, machine: Machine) -> float:
    """``of`` over a run on ``machine``, with all of the peripherals on that ``run`` is without, over itself."""
    more = machine.power.supply * machine.power.peripherals * of.latency_ms
    return 1 + more / of.energy_mj if of.energy_mj > 0 else 1.0


def uses(run: Run, machine: Machine, kind: DeviceKind) -> bool:
    """Does the run touch a region of this kind, or its program keep a buffer in one?"""
    names = {name for name, region in machine.memory.items() if region.kind == kind}
    moved = any(traffic.total for name, traffic in run.traffic.items() if name in names)
    return moved or any(bytes for name, bytes in run.header.peak_bytes.items() if name in names)


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
    moved = operator_bytes(run)
    waits = power.run if power.stalled is None else power.stalled
    result = {}
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
        result[operator.index] = {part: 1e3 * amount for part, amount in joules.items()}
    return result


def operator_bytes(run: Run) -> Mapping[int, Mapping[str, int]]:
    """Bytes that the tasks of each operator moved, by region."""
    result: dict[int, dict[str, int]] = {}
    for event in run.events:
        own = result.setdefault(event.operator, {})
        for region, n in event.moved.items():
            own[region] = own.get(region, 0) + n
    return result


def _dma_cycles(run: Run) -> dict[int, int]:
    """``run.dma_busy`` by operator."""
    reached: dict[str, int] = {}
    dma_cycles: dict[int, int] = {}
    transfers: list[Event] = [event for event in run.events if event.kind == "transfer"]
    for event in sorted(transfers, key=lambda e: (e.start, e.end)):
        controller = event.lane.partition(".")[0]
        before = reached.get(controller, 0)
        dma_cycles[event.operator] = dma_cycles.get(event.operator, 0) + max(0, event.end - max(event.start, before))
        reached[controller] = max(before, event.end)
    assert sum(dma_cycles.values()) == run.dma_busy
    return dma_cycles
