"""Reports of a watched run, and the turns of its core."""

from __future__ import annotations

from mcusim.memory.race_detector import layout as W
from mcusim.memory.race_detector.layout import RaceReport, WatchState
from mcusim.memory.state_layout import MemoryState
from mcusim.native import host_memory as host
from mcusim.native.functions import native
from mcusim.native.structs import address_of

REPORT_BYTES = 8 * RaceReport.WORDS


@native
def next_turn(memory: MemoryState, handler: int) -> None:
    """The core's next turn begins."""
    watch = memory.watch
    watch.turn += 1
    watch.writer = W.BY_CORE | (W.BY_HANDLER if handler else 0) | (watch.turn & W.TURN)
    memory.task = watch.writer


@native
def begin(watch: WatchState, kind: int, code: int, low: int, high: int) -> RaceReport:
    """A report of bytes ``low`` to below ``high`` and transfer ``code``, to be filled in and entered."""
    report = watch.draft
    report.kind, report.code, report.low, report.high = kind, code, low, high
    report.pc = report.wanted = report.seen = report.stored = report.held = report.other = 0
    return report


@native
def enter(memory: MemoryState) -> int:
    """Enter the report that was begun, or widen the one of the same kind, instruction and start of a transfer; the
    index of a new one, else -1."""
    watch = memory.watch
    draft, site = watch.draft, watch.sites[watch.draft.code]
    for k in range(watch.report_count - 1, -1, -1):
        report = watch.reports[k]
        if report.kind == draft.kind and report.pc == draft.pc and watch.sites[report.code] == site:
            report.low = min(draft.low, report.low)
            report.high = max(draft.high, report.high)
            report.times += 1
            return -1
    index = watch.report_count
    if index >= W.MOST_REPORTS:
        watch.lost += 1
        return -1
    draft.now, draft.exception, draft.times = memory.now, watch.exception, 1
    host.copy(address_of(watch.reports[index]), address_of(draft), REPORT_BYTES)
    watch.report_count = index + 1
    return index
