"""A run as a Chrome trace (Trace Event Format, JSON), which the Perfetto UI and chrome://tracing open."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

from mcusim.machine.description import Machine
from mcusim.model.operators import shown_type
from mcusim.results.over_time import CORE, TimeSegment, core_segments, lanes, occupancy, rates, stretches
from mcusim.results.result import Result

if TYPE_CHECKING:
    from mcusim.engine.run import Event, Run

Record = dict[str, Any]
OPERATORS = "operators"
_APART = 100  # numbers of a process and of its threads, which some readers want unique over all processes


def perfetto_json(*results: Result) -> str:
    """One file with a process for each of ``results`` that ran, one event a line; equal results give equal text.

    Threads are ``operators`` (what the core works on or waits for), ``core`` (its tasks, and its waits for a transfer)
    and every DMA stream; slices carry exact ``cycles``, ``by_cause`` and ``bytes`` by region. Counters of each region:
    ``memory sdram, B``, with ``in use`` and ``spare`` (what the plan keeps beyond that; together the run's
    ``peak_bytes``), and ``bandwidth sdram, MB/s`` (10^6 bytes), ``core`` and ``dma``.

    Times are whole nanoseconds, nearest to the cycle's; they are written so that a reader that cuts off after
    multiplying by 1000 finds them. ``displayTimeUnit`` is left out: some readers took it for the unit of the times.
    Raises ValueError when none of ``results`` has a run. Not modelled: how a task's bytes and causes are spread in it.
    """
    ran = [(result, result.run) for result in results if result.run is not None]
    if not ran:
        raise ValueError("there is no run to trace")
    records = [record for i, (result, run) in enumerate(ran, 1) for record in _process(result, run, i * _APART)]
    lines = ",\n".join(json.dumps(record, separators=(",", ":"), allow_nan=False) for record in records)
    about = json.dumps([_about(result, run) for result, run in ran], allow_nan=False)
    return f'{{"traceEvents":[\n{lines}\n],\n"otherData":{{"runs":{about}}}}}\n'


def microseconds(nanoseconds: int) -> float | int:
    """``nanoseconds`` / 1000 so that cutting off its product with 1000 gives ``nanoseconds`` again."""
    if nanoseconds % 1000 == 0:
        return nanoseconds // 1000
    value = nanoseconds / 1000
    while int(value * 1000.0) < nanoseconds:
        value = nextafter(value, inf)
    return value


def _process(result: Result, run: Run, pid: int) -> Iterator[Record]:
    by_lane = lanes(run)
    threads = {name: pid + i for i, name in enumerate([OPERATORS, *by_lane])}
    title = f"{result.model} on {result.machine.name}, {result.planner}, {run.fidelity}"
    yield _metadata("process_name", pid, pid, {"name": _printable(title)})
    yield _metadata("process_sort_index", pid, pid, {"sort_index": pid})
    for name, tid in threads.items():
        yield _metadata("thread_name", pid, tid, {"name": name})
        yield _metadata("thread_sort_index", pid, tid, {"sort_index": tid})
    segments = core_segments(run)
    clock = run.clock
    for record in _operators(segments, run):
        yield record | {"pid": pid, "tid": threads[OPERATORS]}
    for segment in segments:
        yield _segment(segment, clock) | {"pid": pid, "tid": threads[CORE]}
    for name, events in by_lane.items():
        for event in events if name != CORE else ():
            yield _task(event, clock) | {"pid": pid, "tid": threads[name]}
    for record in (*_memory(run, result.machine), *_bandwidth(run)):
        yield record | {"pid": pid, "tid": pid}


def _metadata(name: str, pid: int, tid: int, args: Record) -> Record:
    return {"ph": "M", "name": name, "pid": pid, "tid": tid, "args": args}


def _operators(segments: Iterable[TimeSegment], run: Run) -> Iterator[Record]:
    """One slice for each stretch of an operator's segments."""
    types = {operator.index: shown_type(operator.type) for operator in run.operators}
    for parts in stretches(segments):
        operator, start, end = parts[0].operator, parts[0].start, parts[-1].end
        spent: dict[str, int] = {}
        for part in parts:
            causes = part.event.by_cause if part.event is not None else {"dma_wait": part.end - part.start}
            for cause, cycles in causes.items():
                spent[cause] = spent.get(cause, 0) + cycles
        name = f"{operator} {_printable(types.get(operator, '?'))}"
        args = {"operator": operator, "cycles": end - start, "by_cause": spent}
        yield _slice(name, "operator", start, end, run.clock) | {"args": args}


def _segment(segment: TimeSegment, clock: int) -> Record:
    if segment.event is not None:
        return _task(segment.event, clock)
    args = {"operator": segment.operator, "cycles": segment.end - segment.start}
    return _slice("wait for DMA", "wait", segment.start, segment.end, clock) | {"args": args}


def _task(event: Event, clock: int) -> Record:
    args: Record = {"task": event.task, "operator": event.operator, "cycles": event.end - event.start}
    if event.by_cause:
        args["by_cause"] = dict(event.by_cause)
    if event.moved:
        args["bytes"] = dict(event.moved)
    return _slice(_printable(event.label), event.kind, event.start, event.end, clock) | {"args": args}


def _slice(name: str, category: str, start: int, end: int, clock: int) -> Record:
    """A complete event. Its end is rounded like the next one's start, so that slices of a thread never overlap."""
    since, until = _nanoseconds(start, clock), _nanoseconds(end, clock)
    times = {"ts": microseconds(since), "dur": microseconds(until - since)}
    return {"ph": "X", "name": name, "cat": category, **times}


def _memory(run: Run, machine: Machine) -> Iterator[Record]:
    for region, steps in occupancy(run, machine).items():
        kept = run.header.peak_bytes.get(region, 0)
        for cycle, used in steps:
            yield _counter(f"memory {region}, B", cycle, run.clock, {"in use": used, "spare": max(0, kept - used)})


def _bandwidth(run: Run) -> Iterator[Record]:
    for region, steps in rates(run).items():
        for rate in steps:
            values = {"core": _megabytes(rate.core, run.clock), "dma": _megabytes(rate.dma, run.clock)}
            yield _counter(f"bandwidth {region}, MB/s", rate.start, run.clock, values)


def _megabytes(per_cycle: float, clock: int) -> float:
    """Bytes a cycle as MB/s, to six digits."""
    return float(f"{per_cycle * clock / 1e6:.6g}")


def _counter(name: str, cycle: int, clock: int, values: Record) -> Record:
    return {"ph": "C", "name": name, "ts": microseconds(_nanoseconds(cycle, clock)), "args": values}


def _nanoseconds(cycles: int, clock: int) -> int:
    return (2 * cycles * 10**9 + clock) // (2 * clock)


def _about(result: Result, run: Run) -> Record:
    """What a reader of the file wants to know besides."""
    from mcusim._version import __version__

    names = {"model": result.model, "machine": result.machine.name, "policy": result.policy, "kernels": run.kernels}
    figures = {"clock_hz": run.clock, "cycles": run.cycles, "peak_bytes": dict(run.header.peak_bytes)}
    about = {key: _printable(value) for key, value in names.items()}
    return {**about, "fidelity": run.fidelity, **figures, "mcusim": __version__}


def _printable(text: str) -> str:
    """``text`` without control characters and lone surrogates, which a JSON reader may refuse."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
