"""A result against the limits that a user names."""

from __future__ import annotations

from mcusim.results import Result
from mcusim.results.advice import LimitCheck
from mcusim.results.result import sram_bytes
from mcusim.run_config.run_limits import RunLimits


def check_limits(result: Result, limits: RunLimits) -> tuple[LimitCheck, ...]:
    """The limits that there are, in the order latency, period, energy, SRAM, flash, each with the value of ``result``.

    A period that was asked for is one: the inference has to end within it. SRAM is the peak in on-chip RAM, flash what
    the machine's own flash keeps (not a QSPI flash). Latency and energy are not known where the totals leave operators
    out.
    """
    checks = []
    if limits.latency is not None:
        clock = result.machine.core.clock
        checks.append(LimitCheck("latency", "ms", float(limits.latency.cycles(clock) / clock * 1000), _ms(result)))
    period = None if result.request is None else result.request.settings.period
    if period is not None:
        checks.append(LimitCheck("period", "ms", float(period.seconds * 1000), _ms(result)))
    if limits.energy is not None:
        checks.append(LimitCheck("energy", "mJ", float(limits.energy * 1000), _mj(result)))
    if limits.sram is not None:
        checks.append(LimitCheck("sram", "B", limits.sram, sram_bytes(result)))
    if limits.flash is not None:
        checks.append(LimitCheck("flash", "B", limits.flash, flash_bytes(result)))
    return tuple(checks)


def flash_bytes(result: Result) -> int | None:
    """What the machine's own flash keeps; None when the model is not known."""
    if result.flash is None:
        return None
    regions = result.machine.memory
    return sum(size for name, size in result.flash.used.items() if regions[name].kind == "flash")


def _ms(result: Result) -> float | None:
    return None if result.run is None or result.left_out else 1000 * result.run.cycles / result.run.clock


def _mj(result: Result) -> float | None:
    return None if result.energy is None or result.left_out else result.energy.energy_mj
