"""A recorded run of a firmware for other tools: a Chrome trace (Perfetto), a value change dump (GTKWave, Surfer)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

from mcusim.errors import UsageError
from mcusim.report.export.perfetto import microseconds
from mcusim.report.export.vcd import picoseconds
from mcusim.results.emulation import EmulationResult
from mcusim.results.firmware.firmware_timeline import FirmwareLane, Moment, firmware_lanes

Record = dict[str, Any]
_PROCESS = 100


def firmware_perfetto(result: EmulationResult) -> str:
    """One event a line; threads are the core, each exception's handler and each DMA stream.

    Slices carry ``cycles`` and, of handlers, ``latency``, of transfers ``bytes``. Times are whole nanoseconds, nearest
    to the cycle's. Raises UsageError for a run that was not recorded.
    """
    lines = ",\n".join(json.dumps(record, separators=(",", ":"), allow_nan=False) for record in _records(result))
    about = {"program": _printable(result.name), "machine": _printable(result.machine.name)}
    about |= {"clock_hz": result.machine.core.clock, "cycles": int(result.profile.cycles)}  # type: ignore[dict-item]
    return f'{{"traceEvents":[\n{lines}\n],\n"otherData":{json.dumps(about)}}}\n'


def firmware_vcd(result: EmulationResult) -> str:
    """A scope for the core, ``irq`` and ``dma``; in it of each lane ``busy`` and ``label``, a string as GTKWave has it.

    Times are picoseconds, rounded to the nearest. Raises UsageError for a run that was not recorded.
    """
    from vcd import VCDWriter

    from mcusim._version import __version__

    text, clock = StringIO(), result.machine.core.clock
    about = f"{_ascii(result.name)} on {_ascii(result.machine.name)}".replace("$", "_")
    writer = VCDWriter(text, timescale="1 ps", date="", comment=about, version=f"mcusim {__version__}")
    changes: dict[int, dict[Any, int | str]] = {}
    for lane in _lanes(result):
        scope = ("core",) if lane.group == "core" else ("irq" if lane.group == "handler" else "dma", _word(lane.name))
        busy = writer.register_var(scope, "busy", "wire", size=1, init=0)
        label = writer.register_var(scope, "label", "string", init="")
        for moment in lane.moments:
            changes.setdefault(picoseconds(moment.start, clock), {}).update(
                {busy: int(moment.kind != "asleep"), label: _ascii(moment.text)}
            )
            after = changes.setdefault(picoseconds(moment.end, clock), {})
            after.update({busy: 0, label: ""})
    for time, values in sorted(changes.items()):
        for signal, value in values.items():
            writer.change(signal, time, value)
    writer.close(picoseconds(int(result.profile.cycles), clock))
    return text.getvalue()


def _lanes(result: EmulationResult) -> list[FirmwareLane]:
    lanes = firmware_lanes(result)
    if not lanes:
        raise UsageError("the run was not recorded: emulate(..., record=True)")
    return lanes


def _records(result: EmulationResult) -> Iterator[Record]:
    lanes, clock = _lanes(result), result.machine.core.clock
    title = f"{_printable(result.name)} on {_printable(result.machine.name)}"
    yield _metadata("process_name", _PROCESS, {"name": title})
    for thread, lane in enumerate(lanes, _PROCESS):
        yield _metadata("thread_name", thread, {"name": _printable(lane.name)})
        yield _metadata("thread_sort_index", thread, {"sort_index": thread})
    for thread, lane in enumerate(lanes, _PROCESS):
        for moment in lane.moments:
            yield _slice(moment, thread, clock)


def _metadata(name: str, thread: int, args: Record) -> Record:
    return {"ph": "M", "name": name, "pid": _PROCESS, "tid": thread, "args": args}


def _slice(moment: Moment, thread: int, clock: int) -> Record:
    """A complete event. Its end is rounded like the next one's start, so that slices of a thread never overlap."""
    since, until = ((2 * cycle * 10**9 + clock) // (2 * clock) for cycle in (moment.start, moment.end))
    times = {"ts": microseconds(since), "dur": microseconds(until - since)}
    args = {"cycles": moment.end - moment.start, **moment.more}
    name = _printable(moment.text)
    return {"ph": "X", "name": name, "cat": moment.kind, "pid": _PROCESS, "tid": thread, **times, "args": args}


def _word(name: str) -> str:
    """A name as one word."""
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in name)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _ascii(text: str) -> str:
    return "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode("ascii") for c in text)
