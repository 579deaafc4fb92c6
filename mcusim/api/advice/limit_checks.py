"""A result against the limits that a user names."""

from __future__ import annotations

from dataclasses import replace

from mcusim.machine.description import Machine
from mcusim.results import Result
from mcusim.results.advice import LimitCheck
from mcusim.results.flash import FlashUse
from mcusim.results.memory_plan import MemoryPlan
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
        checks.append(LimitCheck("period", "ms", float(period.seconds * 1000), _awake(result)))
    if limits.energy is not None:
        checks.append(LimitCheck("energy", "mJ", float(limits.energy * 1000), _mj(result)))
    if limits.sram is not None:
        checks.append(LimitCheck("sram", "B", limits.sram, sram_bytes(result)))
    if limits.flash is not None:
        checks.append(LimitCheck("flash", "B", limits.flash, flash_bytes(result)))
    return tuple(checks)


def with_memory_limits(plan: MemoryPlan, limits: RunLimits) -> MemoryPlan:
    """``plan`` with its limits on SRAM and flash checked, as :func:`check_limits` has them of a run."""
    checks = []
    if limits.sram is not None:
        checks.append(LimitCheck("sram", "B", limits.sram, plan.on_chip))
    if limits.flash is not None and plan.machine is not None:
        checks.append(LimitCheck("flash", "B", limits.flash, _in_flash(plan.flash, plan.machine)))
    return replace(plan, limits=tuple(checks))


def flash_bytes(result: Result) -> int | None:
    """What the machine's own flash keeps; None when the model is not known."""
    return _in_flash(result.flash, result.machine)


def _in_flash(flash: FlashUse | None, machine: Machine) -> int | None:
    if flash is None:
        return None
    return sum(size for name, size in flash.used.items() if machine.memory[name].kind == "flash")


def _awake(result: Result) -> float | None:
    """Milliseconds of the inference, and of waking up for it."""
    latency, duty = _ms(result), result.duty
    return latency if latency is None or duty is None else latency + duty.wake_ms


def _ms(result: Result) -> float | None:
    return None if result.run is None or result.left_out else 1000 * result.run.cycles / result.run.clock


def _mj(result: Result) -> float | None:
    return None if result.energy is None or result.left_out else result.energy.energy_mj
