"""Reads a Chrome trace and holds it against the Trace Event Format as it is documented ("Trace Event Format", the
Chromium project's document that Perfetto's page "Visualizing external trace formats" names), as far as the event types
``X``, ``C`` and ``M`` go: known keys and their types, names of metadata, slices of a thread that nest.

Times are nanoseconds, read as Perfetto's JSON importer does: a fraction times 1000, cut off.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

TOP = {
    "traceEvents", "displayTimeUnit", "systemTraceEvents", "otherData", "powerTraceAsString", "stackFrames", "samples",
    "controllerTraceDataKey",
}  # fmt: skip
COMMON = {"name": str, "cat": str, "ph": str, "ts": (int, float), "tts": (int, float), "pid": int, "tid": int,
          "args": dict, "cname": str}  # fmt: skip
OWN = {
    "X": {"dur": (int, float), "tdur": (int, float), "sf": int, "esf": int, "stack": list, "estack": list},
    "C": {"id": (int, str)},
    "M": {},
}
REQUIRED = {"X": {"name", "ts", "dur", "pid", "tid"}, "C": {"name", "ts", "pid", "args"}, "M": {"name", "pid", "args"}}
METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}


@dataclass(frozen=True)
class Slice:
    name: str
    category: str
    start: int
    end: int
    args: dict[str, Any]


@dataclass
class Process:
    """``threads`` in the order of their sort index; ``counters`` by name and series, as (time, value)."""

    name: str = ""
    threads: dict[str, list[Slice]] = field(default_factory=dict)
    counters: dict[tuple[str, str], list[tuple[int, float]]] = field(default_factory=dict)


def nanoseconds(time: float) -> int:
    return time * 1000 if isinstance(time, int) else int(time * 1000.0)


def read_trace(text: str) -> list[Process]:
    """The processes of a trace; fails where it is not as documented."""
    document = json.loads(text, parse_constant=_refuse)
    json.dumps(document, ensure_ascii=False).encode("utf-8")  # no lone surrogates
    assert isinstance(document, dict) and set(document) <= TOP, set(document) - TOP
    events = document["traceEvents"]
    assert isinstance(events, list)
    for event in events:
        _check(event)
    return [_process(pid, events) for pid in sorted({event["pid"] for event in events})]


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def _check(event: Any) -> None:
    assert isinstance(event, dict), event
    phase = event.get("ph")
    assert phase in OWN, event
    types = COMMON | OWN[phase]
    assert set(types) >= set(event) >= REQUIRED[phase], event
    for key, value in event.items():
        assert isinstance(value, types[key]) and not isinstance(value, bool), (key, event)
    if phase == "X":
        assert event["dur"] >= 0 and event["ts"] >= 0, event
    elif phase == "C":
        assert event["args"], event
        for series, value in event["args"].items():
            assert isinstance(series, str) and isinstance(value, (int, float)) and not isinstance(value, bool), event
    else:
        key, of = METADATA[event["name"]]
        assert set(event["args"]) == {key} and isinstance(event["args"][key], of), event


def _process(pid: int, events: list[dict[str, Any]]) -> Process:
    own = [event for event in events if event["pid"] == pid]
    printed = [event for event in own if event["ph"] == "M"]
    found = Process(_only(event["args"]["name"] for event in printed if event["name"] == "process_name"))
    names = {event["tid"]: event["args"]["name"] for event in printed if event["name"] == "thread_name"}
    order = {event["tid"]: event["args"]["sort_index"] for event in printed if event["name"] == "thread_sort_index"}
    assert len(set(names.values())) == len(names) and set(names) == set(order)
    slices = [event for event in own if event["ph"] == "X"]
    assert {event["tid"] for event in slices} <= set(names)
    for tid in sorted(names, key=lambda tid: order[tid]):
        found.threads[names[tid]] = _nested([_slice(event) for event in slices if event["tid"] == tid])
    for event in own:
        for series, value in event["args"].items() if event["ph"] == "C" else ():
            points = found.counters.setdefault((event["name"], series), [])
            assert not points or points[-1][0] <= nanoseconds(event["ts"]), event
            points.append((nanoseconds(event["ts"]), value))
    return found


def _only(values: Any) -> Any:
    (value,) = values
    return value


def _slice(event: dict[str, Any]) -> Slice:
    start = nanoseconds(event["ts"])
    return Slice(event["name"], event.get("cat", ""), start, start + nanoseconds(event["dur"]), event.get("args", {}))


def _nested(slices: list[Slice]) -> list[Slice]:
    """``slices`` by their start; fails where two overlap and neither holds the other."""
    slices = sorted(slices, key=lambda one: (one.start, -one.end))
    around: list[Slice] = []
    for one in slices:
        while around and around[-1].end <= one.start:
            around.pop()
        assert not around or one.end <= around[-1].end, (around[-1], one)
        around.append(one)
    return slices
