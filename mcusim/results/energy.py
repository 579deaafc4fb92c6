"""Energy of a run: the machine's power table times what the run recorded, in total, by operator and by consumer; and of
a period of runs with sleep in between."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

from mcusim.machine.description import DeviceKind, Machine
from mcusim.run_config.period import Battery, Period

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

    The currents are those at the machine's clocks (:mod:`mcusim.machine.currents`); :func:`duty` adds sleep.

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
    power = machine.power
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


SLEEP_BAND = (0.8, 3.7)
"""What a current asleep may be in parts of the tables', which have the peripherals off: 0.8, as the run current of one
part differs by 20 % between measurements (power of the NUCLEO-L4R5ZI in MLPerf Tiny), to 3.7 with all peripherals on
(STM32F429: 78 against 21 mA, STM32F722: 82 against 24, STM32H743: 136 against 51; ST DS9405, DS11853, DS12110)."""


@dataclass(frozen=True, slots=True)
class BatteryLife:
    """How long ``battery`` lasts; ``by`` says what was divided: its charge, or its energy."""

    battery: Battery
    hours: float
    by: str
    overload: bool

    def to_json(self) -> dict[str, Any]:
        """``battery``, ``hours``, ``by``, ``overload`` as plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Duty:
    """An inference every ``period_ms``, asleep in the rest. ``met``: the period is no shorter than the inference; if
    not, energy, power, current and battery life are None. ``energy_mj`` is one period's, ``sleep_mj`` of it asleep,
    ``interval_mj`` where measurements of it are expected.
    """

    period_ms: float
    latency_ms: float
    met: bool
    sleep_current_ma: float
    sleep_mj: float | None = None
    energy_mj: float | None = None
    mean_power_mw: float | None = None
    mean_current_ma: float | None = None
    battery: BatteryLife | None = None
    interval_mj: tuple[float, float] | None = None

    def within(self, run_mj: tuple[float, float]) -> Duty:
        """With ``interval_mj``, where a measurement of a period is expected when one of the run is within ``run_mj``.

        Asleep it is :data:`SLEEP_BAND` around the current, for which there is no published row.
        """
        if self.sleep_mj is None:
            return self
        ends = zip(run_mj, SLEEP_BAND, strict=True)
        low, high = (run + factor * self.sleep_mj for run, factor in ends)
        return replace(self, interval_mj=(low, high))

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data."""
        return asdict(self) | {"interval_mj": None if self.interval_mj is None else list(self.interval_mj)}


def duty(machine: Machine, usage: Usage, asked: Period) -> Duty:
    """Energy for each period of a run that is repeated, the core asleep (WFI) in between.

    ::

        E     = E_run + V x (T - t) x (sleep + [sdram_active if used] + [the part of qspi_active that needs no clock])
        P     = E / T
        life  = charge / (P / V)        where the cell's voltage is at least the supply's
              = charge x U / P          else

    A linear regulator passes the current on, whatever the cell's voltage ``U`` above the supply's; below it a boost
    converter without loss is taken. SDRAM stays refreshed and clocked, as its contents are needed next time.

    Not modelled: waking up and changing clocks, a slower clock while asleep, STOP modes, self-refresh of the SDRAM; of
    the cell what it loses by itself, by large currents, by cold and with age, and the voltage below which it is empty.
    """
    power, period = machine.power, float(asked.seconds)
    asleep = power.run if power.sleep is None else power.sleep
    asleep += power.sdram_active if "sdram" in usage.external else 0.0
    asleep += power.qspi_idle if "qspi" in usage.external else 0.0
    result = Duty(1e3 * period, 1e3 * usage.seconds, usage.seconds <= period, 1e3 * asleep)
    if not result.met:
        return result
    active = delivered(machine, usage)
    sleeping = power.supply * (period - usage.seconds) * asleep
    watts = (active.energy_mj / 1e3 + sleeping) / period
    peak = max(active.supply_current_ma, result.sleep_current_ma)
    return replace(
        result,
        sleep_mj=1e3 * sleeping,
        energy_mj=active.energy_mj + 1e3 * sleeping,
        mean_power_mw=1e3 * watts,
        mean_current_ma=1e3 * watts / power.supply,
        battery=None if asked.battery is None else _life(asked.battery, power.supply, watts, peak),
    )


def _life(cell: Battery, supply: float, watts: float, peak_ma: float) -> BatteryLife:
    """Of a ``cell`` that delivers ``watts`` at ``supply`` V on average and ``peak_ma`` at most."""
    linear = cell.voltage >= supply
    drawn = (1e3 * watts / supply) if linear else 1e3 * watts / cell.voltage
    hours = cell.capacity_mah / drawn if drawn else inf
    by = "charge, a linear regulator" if linear else "energy, a boost converter without loss"
    overload = cell.most_ma is not None and peak_ma * (1 if linear else supply / cell.voltage) > cell.most_ma
    return BatteryLife(cell, hours, by, overload)


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
