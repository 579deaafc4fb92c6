"""Energy of a period: an inference, and sleep in what is left.

Not modelled: a slower clock while asleep; of the cell what it loses by itself, by large currents, by cold and with age,
and the voltage below which it is empty; what the firmware does besides.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

from mcusim.errors import UsageError
from mcusim.machine.description import Machine, Power, SleepMode
from mcusim.results.energy import Usage, delivered_by
from mcusim.run_config.period import MCU, STANDBY, WFI, Battery, Period

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
    """An inference every ``period_ms``, asleep in the rest. ``met``: the period is no shorter than the inference and
    waking up; if not, energy, power, current and battery life are None. ``energy_mj`` is one period's, ``sleep_mj`` of
    it asleep and ``wake_mj`` waking up, ``interval_mj`` where measurements of it are expected. ``sleep`` is how it
    sleeps, ``domain`` whose energy it is, ``sleep_band`` what its current asleep may be in parts of that here.
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
    sleep: str = WFI
    domain: str = "board"
    wake_ms: float = 0.0
    wake_mj: float | None = None
    sleep_band: tuple[float, float] = SLEEP_BAND

    @property
    def run_mj(self) -> float:
        """Energy of the inference alone; 0 where the period is not met."""
        return (self.energy_mj or 0.0) - (self.sleep_mj or 0.0) - (self.wake_mj or 0.0)

    def within(self, run_mj: tuple[float, float]) -> Duty:
        """With ``interval_mj``, where a measurement of a period is expected when one of the run is within ``run_mj``.

        Asleep it is ``sleep_band`` around the current, for which there is no published row.
        """
        if self.sleep_mj is None or self.energy_mj is None:
            return self
        rest = self.wake_mj or 0.0
        low, high = (run + rest + factor * self.sleep_mj for run, factor in zip(run_mj, self.sleep_band, strict=True))
        return replace(self, interval_mj=(low, high))

    def to_json(self) -> dict[str, Any]:
        """Its fields as plain data."""
        interval = None if self.interval_mj is None else list(self.interval_mj)
        return asdict(self) | {"interval_mj": interval, "sleep_band": list(self.sleep_band)}


def require_mode(machine: Machine, asked: Period, external: bool = False) -> None:
    """Raise UsageError when ``machine`` has no figures for the sleep that is ``asked`` for, or when that loses an
    ``external`` memory that a run uses."""
    if asked.sleep == WFI:
        return
    if asked.sleep not in machine.power.modes:
        known = (WFI, *machine.power.modes)
        raise UsageError(
            f"--sleep {asked.sleep}: {machine.name} has no figures of that mode, nor has a part that could stand in;"
            f" it has {', '.join(known)}. A machine file may have them: [power.mode.{asked.sleep}]"
        )
    if external and asked.sleep == STANDBY:
        raise UsageError(
            "--sleep standby loses what is in the SDRAM, and what it costs to fill it again is not modelled:"
            " --sleep stop keeps it in self-refresh, --policy internal needs none"
        )


def duty(machine: Machine, usage: Usage, asked: Period) -> Duty:
    """Energy for each period of a run that is repeated, the core asleep in between.

    ::

        E     = E_run + V x t_wake x run + V x (T - t - t_wake) x asleep
        P     = E / T
        life  = charge / (P / V)        where the cell's voltage is at least the supply's
              = charge x U / P          else

        asleep, wfi              sleep + [sdram_active if used] + [the part of qspi_active that needs no clock]
        asleep, stop, standby    that of the mode + board + [self_refresh of the SDRAM if used] + [the same of QSPI]

    From ``wfi``, the clocks on, waking up takes no time. From ``stop`` and ``standby`` it takes the mode's ``wakeup``
    and ``restart``, of oscillator and PLL, all of it at the current of a core that runs. Caches are cold, as they are
    in every run. ``standby`` loses the RAM: what start-up code does after a reset is not in it.

    ``asked.domain`` ``mcu``: without the board's own current and its external memories, at the microcontroller's own
    supply. A linear regulator passes the current on, whatever the cell's voltage ``U`` above the supply's; below it a
    boost converter without loss is taken.

    Raises what :func:`require_mode` raises. Not modelled: what :mod:`mcusim.results.duty` says; the start-up code and
    the interpreter's preparation after ``standby``; that a run in the middle of a warm loop finds its caches filled.
    """
    require_mode(machine, asked, "sdram" in usage.external)
    power = machine.power
    if asked.domain == MCU:
        power, usage = _mcu_alone(power), replace(usage, external=(), moved={})
    mode, period = power.modes.get(asked.sleep), float(asked.seconds)
    asleep, wake = _asleep(power, usage, mode), 0.0 if mode is None else mode.wakeup + mode.restart
    band = SLEEP_BAND if mode is None else (min(1, mode.least / mode.current), max(1, mode.most / mode.current))
    result = Duty(1e3 * period, 1e3 * usage.seconds, usage.seconds + wake <= period, 1e3 * asleep)
    result = replace(result, sleep=asked.sleep, domain=asked.domain, wake_ms=1e3 * wake, sleep_band=band)
    return _with_energy(result, power, usage, asked.battery) if result.met else result


def _with_energy(result: Duty, power: Power, usage: Usage, battery: Battery | None) -> Duty:
    """``result`` with the energy of a period that is long enough."""
    period, wake, asleep = (figure / 1e3 for figure in (result.period_ms, result.wake_ms, result.sleep_current_ma))
    active, waking = delivered_by(power, usage), power.supply * wake * power.run
    sleeping = power.supply * (period - usage.seconds - wake) * asleep
    watts = (active.energy_mj / 1e3 + waking + sleeping) / period
    peak = max(active.supply_current_ma, result.sleep_current_ma)
    return replace(
        result,
        sleep_mj=1e3 * sleeping,
        wake_mj=1e3 * waking,
        energy_mj=active.energy_mj + 1e3 * (waking + sleeping),
        mean_power_mw=1e3 * watts,
        mean_current_ma=1e3 * watts / power.supply,
        battery=None if battery is None else _life(battery, power.supply, watts, peak),
    )


def _asleep(power: Power, usage: Usage, mode: SleepMode | None) -> float:
    """A while the core is asleep."""
    idle = power.qspi_idle if "qspi" in usage.external else 0.0
    if mode is None:
        core = power.run if power.sleep is None else power.sleep
        return core + idle + (power.sdram_active if "sdram" in usage.external else 0.0)
    refresh = power.sdram_active if power.self_refresh is None else power.self_refresh
    return mode.current + power.board + idle + (refresh if "sdram" in usage.external else 0.0)


def _mcu_alone(power: Power) -> Power:
    """Without the board's own part of each current, at the microcontroller's supply."""
    own = replace(power, supply=power.mcu_supply or power.supply, board=0.0, run=max(0.0, power.run - power.board))
    stalled, sleep = (None if i is None else max(0.0, i - power.board) for i in (power.stalled, power.sleep))
    return replace(own, stalled=stalled, sleep=sleep)


def _life(cell: Battery, supply: float, watts: float, peak_ma: float) -> BatteryLife:
    """Of a ``cell`` that delivers ``watts`` at ``supply`` V on average and ``peak_ma`` at most."""
    linear = cell.voltage >= supply
    drawn = (1e3 * watts / supply) if linear else 1e3 * watts / cell.voltage
    hours = cell.capacity_mah / drawn if drawn else inf
    by = "charge, a linear regulator" if linear else "energy, a boost converter without loss"
    overload = cell.most_ma is not None and peak_ma * (1 if linear else supply / cell.voltage) > cell.most_ma
    return BatteryLife(cell, hours, by, overload)
