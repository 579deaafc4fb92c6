"""A run as a value change dump (VCD, IEEE 1364), which GTKWave and Surfer open."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from typing import TYPE_CHECKING, Any

from mcusim.results.over_time import CORE, core_segments, lanes, occupancy
from mcusim.results.result import Result

if TYPE_CHECKING:
    from vcd import VCDWriter
    from vcd.writer import Variable

    from mcusim.engine.run import Event, Run

    Signal = Variable[Any]

Scope = tuple[str, ...]
_NOBODY = "z"  # an idle lane works on no task


def vcd_text(*results: Result) -> str:
    """One file with a scope for each of ``results`` that ran, named after its fidelity (``replay``; ``replay0``
    where it is not the only one); equal results give equal text.

    Below it ``core`` and every DMA stream (``dma2.s0``): ``busy``, ``task`` and ``operator`` (high impedance while
    idle) and ``label``, a string as GTKWave knows it; of the core also ``waiting`` (for a transfer) and
    ``cycles.<cause>``, counted so far. Below ``memory.<region>``: ``in_use`` and ``peak``, bytes, and ``core_bytes``
    and ``dma_bytes``, moved so far. Counts change at the end of a task.

    Times are picoseconds, rounded to the nearest: at most a cycle's 1/200, so that every cycle is found again.
    Raises ValueError when none of ``results`` has a run. Not modelled: tasks of no cycles (their counts are there).
    """
    from vcd import VCDWriter

    from mcusim._version import __version__

    ran = [(result, result.run) for result in results if result.run is not None]
    if not ran:
        raise ValueError("there is no run to trace")
    about = "\n".join(_line(result, run) for result, run in ran)
    text = StringIO()
    writer = VCDWriter(text, timescale="1 ps", date="", comment=about, version=f"mcusim {__version__}")
    changes = _Changes()
    fidelities = [run.fidelity for _, run in ran]
    for i, (result, run) in enumerate(ran):
        name = run.fidelity if fidelities.count(run.fidelity) == 1 else f"{run.fidelity}{i}"
        _declare(writer, changes, (name,), result, run)
    changes.write(writer)
    writer.close(max(picoseconds(run.cycles, run.clock) for _, run in ran))
    return text.getvalue()


def picoseconds(cycles: int, clock: int) -> int:
    """``cycles`` at ``clock`` Hz, rounded to the nearest."""
    return (2 * cycles * 10**12 + clock) // (2 * clock)


class _Changes:
    """Values by time: of several for one signal at one time the last one counts."""

    def __init__(self) -> None:
        self._at: dict[int, dict[Signal, int | str]] = {}
        self.clock = 1

    def put(self, cycle: int, signal: Signal, value: int | str) -> None:
        self._at.setdefault(picoseconds(cycle, self.clock), {})[signal] = value

    def write(self, writer: VCDWriter) -> None:
        for time, values in sorted(self._at.items()):
            for signal, value in values.items():
                writer.change(signal, time, value)


def _declare(writer: VCDWriter, changes: _Changes, top: Scope, result: Result, run: Run) -> None:
    changes.clock = run.clock
    for lane, events in lanes(run).items():
        _lane(writer, changes, (*top, *lane.split(".")), events)
    _causes(writer, changes, (*top, CORE), run)
    _memory(writer, changes, (*top, "memory"), result, run)


def _lane(writer: VCDWriter, changes: _Changes, scope: Scope, events: Iterable[Event]) -> None:
    busy = writer.register_var(scope, "busy", "wire", size=1, init=0)
    task = writer.register_var(scope, "task", "integer", size=64, init=_NOBODY)
    operator = writer.register_var(scope, "operator", "integer", size=64, init=_NOBODY)
    label = writer.register_var(scope, "label", "string", init="")
    idle: tuple[int | str, ...] = (0, _NOBODY, _NOBODY, "")
    for event in events:
        if event.end == event.start:
            continue
        shown: tuple[int | str, ...] = (1, event.task, event.operator, _ascii(event.label))
        for signal, during, after in zip((busy, task, operator, label), shown, idle, strict=True):
            changes.put(event.start, signal, during)
            changes.put(event.end, signal, after)


def _causes(writer: VCDWriter, changes: _Changes, scope: Scope, run: Run) -> None:
    waiting = writer.register_var(scope, "waiting", "wire", size=1, init=0)
    names = [cause for cause, cycles in run.by_cause.items() if cycles]
    signals = {cause: writer.register_var((*scope, "cycles"), cause, "integer", size=64, init=0) for cause in names}
    spent = dict.fromkeys(names, 0)
    for segment in core_segments(run):
        if segment.event is None:
            changes.put(segment.start, waiting, 1)
            changes.put(segment.end, waiting, 0)
        by_cause = {"dma_wait": segment.end - segment.start} if segment.event is None else segment.event.by_cause
        for cause, cycles in by_cause.items():
            spent[cause] += cycles
            changes.put(segment.end, signals[cause], spent[cause])


def _memory(writer: VCDWriter, changes: _Changes, scope: Scope, result: Result, run: Run) -> None:
    for region, steps in occupancy(run, result.machine).items():
        used = writer.register_var((*scope, region), "in_use", "integer", size=64, init=0)
        peak = run.header.peak_bytes.get(region, 0)
        writer.register_var((*scope, region), "peak", "integer", size=64, init=peak)
        for cycle, bytes in steps:
            changes.put(cycle, used, bytes)
    ended = sorted(run.events, key=lambda event: event.end)
    for region in run.traffic:
        for name, by_core in (("core_bytes", True), ("dma_bytes", False)):
            signal = writer.register_var((*scope, region), name, "integer", size=64, init=0)
            total = 0
            for event in ended:
                if (event.lane == CORE) is by_core and region in event.moved:
                    total += event.moved[region]
                    changes.put(event.end, signal, total)


def _line(result: Result, run: Run) -> str:
    """What the file is about; a ``$`` there could end the comment."""
    text = f"{result.model} on {result.machine.name}: policy {result.planner}, kernels {run.kernels}, {run.fidelity}"
    return _ascii(text).replace("$", "_")


def _ascii(text: str) -> str:
    return "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode("ascii") for c in text)
