"""A profile as a callgrind file, for KCachegrind, QCachegrind and callgrind_annotate.

Format: Valgrind manual, "Callgrind Format Specification", version 1. Costs are whole numbers there: cycles are rounded
so that the self costs add up to all cycles, rounded down. A call's inclusive cost is known in cycles and instructions
only. Not modelled: jumps, and calls that the emulator did not follow.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TextIO

from mcusim.results.emulation import EmulationResult
from mcusim.results.hot_spots import function_of, whole

EVENTS = {
    "Cycles": "core cycles",
    "Instructions": "instructions issued",
    "DataStalls": "cycles waiting for data",
    "FetchStalls": "cycles waiting for code",
}
UNKNOWN = "???"
Costs = tuple[int, int, int, int]


class _Names:
    """Compressed names: ``(1) name`` at first, ``(1)`` from then on."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        number = self._known.get(name)
        if number is not None:
            return f"({number})"
        self._known[name] = len(self._known) + 1
        return f"({len(self._known)}) {name}"


def write_callgrind(result: EmulationResult, file: TextIO) -> None:
    """Write the profile of ``result`` to ``file``."""
    for line in callgrind_lines(result):
        file.write(line + "\n")


def callgrind_lines(result: EmulationResult) -> Iterator[str]:
    """The lines of the file: a header, then function by function its instructions and the calls they made."""
    costs = _costs(result)
    totals = [sum(cost[i] for cost in costs.values()) for i in range(len(EVENTS))]
    yield from ("# callgrind format", "version: 1", "creator: mcusim", f"cmd: {_plain(result.name)}", "part: 1")
    yield f"desc: Machine: {_plain(result.machine.name)}, {result.machine.core.clock / 1e6:g} MHz"
    yield "positions: instr line"
    yield from (f"event: {name} : {text}" for name, text in EVENTS.items())
    yield f"events: {' '.join(EVENTS)}"
    yield f"summary: {' '.join(map(str, totals))}"
    yield from _functions(result, costs)
    yield from ("", f"totals: {' '.join(map(str, totals))}")


def _functions(result: EmulationResult, costs: dict[int, Costs]) -> Iterator[str]:
    files, names = _Names(), _Names()
    members: dict[tuple[str, int], list[int]] = defaultdict(list)
    for address in sorted(costs):
        members[function_of(result.image, address)].append(address)
    calls = _calls(result)
    for (name, start), addresses in members.items():
        current = _line(result, start)[0]
        yield from ("", f"fl={files(current)}", f"fn={names(_plain(name))}")
        for address in addresses:
            source, line = _line(result, address)
            if source != current:
                yield f"fi={files(source)}"
                current = source
            yield f"{address:#x} {line} {' '.join(map(str, costs[address]))}"
            for callee, (count, cycles, issued) in calls.get(address, {}).items():
                where, at = _line(result, callee)
                yield f"cfi={files(where)}"
                yield f"cfn={names(_plain(function_of(result.image, callee)[0]))}"
                yield f"calls={count} {callee:#x} {at}"
                yield f"{address:#x} {line} {cycles:.0f} {issued}"


def _costs(result: EmulationResult) -> dict[int, Costs]:
    """Whole numbers by instruction; the cycles sum to those of the run, rounded down."""
    profile = result.profile
    rows = {at: cost for at, cost in profile.instructions.items() if cost.issued or cost.cycles}
    values = list(rows.values())
    cycles = whole(cost.cycles for cost in values)
    data, fetch = whole(cost.data for cost in values), whole(cost.fetch for cost in values)
    issued = [cost.issued for cost in values]
    return dict(zip(rows, zip(cycles, issued, data, fetch, strict=True), strict=True))


def _calls(result: EmulationResult) -> dict[int, dict[int, tuple[int, float, int]]]:
    """Calls, their inclusive cycles and instructions by site, then callee: a site may be in several basic blocks."""
    calls: dict[int, dict[int, tuple[int, float, int]]] = defaultdict(dict)
    for edge in sorted(result.profile.calls, key=lambda edge: (edge.site, edge.callee)):
        count, cycles, issued = calls[edge.site].get(edge.callee, (0, 0.0, 0))
        calls[edge.site][edge.callee] = count + edge.calls, cycles + edge.cycles, issued + edge.issued
    return calls


def _line(result: EmulationResult, address: int) -> tuple[str, int]:
    file, line = result.image.line_at(address) or (UNKNOWN, 0)
    return _plain(file), line


def _plain(name: str) -> str:
    """A name on one line."""
    text = name if name.isprintable() else name.encode("unicode_escape").decode("ascii")
    return text.strip() or UNKNOWN
