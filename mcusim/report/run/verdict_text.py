"""The answer in a line: whether a model fits, how long it takes and what it costs; or why there is no run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mcusim.plan.verdict import unused_memory
from mcusim.report.run.advice_text import limit_name, shown
from mcusim.report.run.interval_text import ends_text, percentage
from mcusim.results.measurement.interval import LEVEL
from mcusim.results.result import Result
from mcusim.text import pick_unit, quantity, size, size_of_room, wrapped

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.plan.verdict import MemoryVerdict
    from mcusim.results.flash import FlashUse

_NAMES = {"sdram": "SDRAM", "flash": "flash", "qspi": "QSPI flash"}  # of kinds of memory; the others are SRAM


def verdict_text(result: Result) -> str:
    """``"fits: 23.3 KiB of 320 KiB SRAM, 31.2 ms (26.4 to 37.6), 15 mJ"``, with limits that are exceeded first;
    ``"does not fit: needs 8.9 KiB of 8 KiB SRAM"``; '' where neither a run nor a memory that is too small is known."""
    if result.run is None:
        return negative_text(result) if result.verdict or result.fault is not None else ""
    beyond = ", ".join(limit_name(limit) for limit in result.advice.limits if limit.over)
    unknown = ", ".join(limit_name(limit) for limit in result.advice.limits if limit.value is None)
    counted = result.verdict
    head = f"exceeds the limit of {beyond}" if beyond else "runs" if counted is None else "fits"
    head += f", {unknown} not known" if unknown else ""
    room = [] if counted is None else [room_text(counted, result.machine)]
    energy = [] if result.energy is None else [quantity(result.value("energy_mj"), "mJ")]
    return f"{head}: {', '.join([*room, timed(result), *energy])}"


def counted_lines(counted: MemoryVerdict, machine: Machine, more: str = "") -> list[str]:
    """What was counted, and ``more`` of it, and what on-chip memory is left out, and why."""
    by_reason: dict[str, list[str]] = {}
    for memory in unused_memory(counted, machine):
        by_reason.setdefault(memory.why, []).append(f"{memory.region} {size(memory.bytes)}")
    unused = [f"left out: {', '.join(regions)} ({why})" for why, regions in by_reason.items()]
    return [line for text in (f"{counted}{more}", *unused) for line in wrapped(text)]


def reason_lines(result: Result) -> list[str]:
    """Why there is no run, in full: what was counted, or what else stands in the way."""
    if result.verdict is not None:
        over = None if result.flash is None else result.flash.over
        more = f", before what else {over.region} keeps" if over and over.region == result.verdict.region else ""
        return counted_lines(result.verdict, result.machine, more)
    return wrapped(str(result.negative or result.unusable))


def doubtful_text(result: Result) -> str:
    """Limits that are met, but not by what was measured, or not at the upper end of the interval; '' for none."""
    if result.interval is None:
        return ""
    figures = {} if result.measured is None else result.measured.figures
    known = {
        "latency": figures.get("latency_ms"),
        "period": figures.get("latency_ms"),
        "energy": figures.get("energy_mj"),
    }
    measured = [
        f"{'energy' if limit.name == 'energy' else 'latency'} {shown(value, limit.unit)}"
        for limit in result.advice.limits
        if limit.met and (value := known.get(limit.name) or 0.0) > limit.limit
    ]
    if measured:
        return f"not so on a board: measured is {', '.join(dict.fromkeys(measured))}"
    latency, energy = result.interval.latency_ms[1], result.interval.energy_mj[1]
    most = {"latency": latency, "period": latency, "energy": energy}
    beyond = dict.fromkeys(
        f"{'energy' if limit.name == 'energy' else 'latency'} {shown(most[limit.name], limit.unit)}"
        for limit in result.advice.limits
        if limit.met and most.get(limit.name, 0.0) > limit.limit
    )
    return f"not certain: the {percentage(LEVEL)} interval reaches {', '.join(beyond)}" if beyond else ""


def parts_text(parts: Mapping[str, int]) -> str:
    """``"activations 15.6 KiB, scratch 1.1 KiB, runtime 6.5 KiB"``."""
    return ", ".join(f"{part} {size(bytes)}" for part, bytes in parts.items())


def timed(result: Result) -> str:
    """Latency with the interval that is expected: ``"31.2 ms (26.4 to 37.6)"``."""
    latency = result.value("latency_ms")
    scale = pick_unit("ms", [latency])
    return scale.text(latency) + (f" ({ends_text(result.interval.latency_ms, scale)})" if result.interval else "")


def negative_text(result: Result) -> str:
    """Why there is no run, in a few words."""
    counted = result.verdict
    if counted is not None:
        return too_small_text(counted, result.machine, result.flash)
    if result.fault is None:
        return "cannot be planned"
    where = f"{result.fault.kind} in operator {result.fault.operator} {result.fault.type}"
    return f"{'would fault' if result.fidelity == 'replay' else 'faults'}: {where}"


def too_small_text(counted: MemoryVerdict, machine: Machine, flash: FlashUse | None) -> str:
    """What is needed of the memory that is too small, and of flash where that is too; of a flash all that it keeps."""
    over = None if flash is None else flash.over
    if over is None:
        return f"does not fit: needs {room_text(counted, machine)}"
    kept = f"{size_of_room(over.needed, over.available)} {over.region}"
    own = "" if over.region in counted.region.split("+") else f"{room_text(counted, machine)}, "
    return f"does not fit: needs {own}{kept}"


def room_text(counted: MemoryVerdict, machine: Machine) -> str:
    """``"23.3 KiB of 320 KiB SRAM"``; each kind of memory apart where parts are in several."""
    memory, needed, available = machine.memory, dict[str, int](), dict[str, int]()
    kinds = {name: _NAMES.get(memory[name].kind, "SRAM") for name in counted.region.split("+") if name in memory}
    for part, bytes in counted.parts.items():
        kind = kinds.get(counted.memory_of.get(part, "").split("+")[0], next(iter(kinds.values()), "SRAM"))
        needed[kind] = needed.get(kind, 0) + bytes
    for name, kind in kinds.items():
        available[kind] = available.get(kind, 0) + memory[name].size
    if len(available) < 2:
        return f"{size_of_room(counted.needed, counted.available)} {next(iter(available), 'SRAM')}"
    if "SRAM" in available:  # the budget is for what is on chip
        available["SRAM"] += counted.available - sum(available.values())
    return ", ".join(f"{size(needed.get(kind, 0))} of {size(room)} {kind}" for kind, room in available.items())
