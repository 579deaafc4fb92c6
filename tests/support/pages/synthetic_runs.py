"""Runs that nobody simulated: random tasks on lanes, random buffers in memory, sums as an engine would have them."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st

from mcusim.engine.run import CAUSES, Event, OperatorRun, Run, Traffic
from mcusim.machine import load_machine
from mcusim.program.program import Buffer, Header, MemoryParts, OperatorInfo, Span
from mcusim.results import Result, energy
from tests.support.pages.made_results import transferring

MACHINE = "stm32f746g-disco"
PLACES = {name: load_machine(MACHINE).memory[name].base for name in ("dtcm", "sram1", "sdram")}
STREAMS = ("bdma.s0", "dma2.s1")
CLOCKS = (1_000, 80_000_000, 168_000_001, 216_000_000, 480_000_000)
texts = st.text(max_size=12) | st.sampled_from(["$end", "3 CONV_2D tile 1/2", '"\\', "\udc80", "a\nb", "#5"])


@st.composite
def lane(draw: st.DrawFn, name: str, operators: int, number: int) -> list[Event]:
    events, now = [], 0
    for i in range(draw(st.integers(0, 6))):
        start = now + draw(st.integers(0, 50))
        now = start + draw(st.integers(0, 400))
        operator = draw(st.integers(0, operators - 1))
        moved = draw(st.dictionaries(st.sampled_from([*PLACES]), st.integers(1, 5000), max_size=2))
        cause = draw(st.sampled_from(["compute", "sdram", "flash"]))
        causes = {cause: now - start} if name == "core" and now > start else {}
        kind = "compute" if name == "core" else "transfer"
        events.append(Event(100 * number + i, name, kind, draw(texts), operator, start, now, causes, moved))
    return events


@st.composite
def buffers(draw: st.DrawFn, operators: int) -> list[Buffer]:
    found = []
    for i in range(draw(st.integers(0, 12))):
        region = draw(st.sampled_from([*PLACES]))
        address, size = PLACES[region] + 4 * draw(st.integers(0, 40)), draw(st.integers(1, 90))
        first = draw(st.integers(0, operators - 1))
        last = draw(st.integers(first, operators - 1))
        found.append(Buffer(f"tensor{i}", "activation", Span(region, address, size), first, last))
    if draw(st.booleans()):  # one that runs on into the next region
        found.append(Buffer("across", "overlay", Span("dtcm", PLACES["sram1"] - 40, 100), 0, operators - 1))
    return found


@st.composite
def runs(draw: st.DrawFn) -> Run:
    operators = draw(st.integers(1, 4))
    events = [e for i, name in enumerate(["core", *STREAMS]) for e in draw(lane(name, operators, i))]
    events.sort(key=lambda event: event.end)
    cycles = max([event.end for event in events], default=0) + draw(st.integers(0, 30))
    spent: dict[int, Counter[str]] = {}
    now = operator = 0
    for event in [event for event in events if event.lane == "core"]:
        operator = event.operator
        spent.setdefault(operator, Counter()).update({"dma_wait": event.start - now} | dict(event.by_cause))
        now = event.end
    spent.setdefault(operator, Counter())["dma_wait"] += cycles - now
    busy: Counter[str] = Counter()
    moved: dict[str, Counter[str]] = {}
    for event in events:
        busy[event.lane] += event.end - event.start
        for region, n in event.moved.items():
            moved.setdefault(region, Counter())["core_read" if event.lane == "core" else "dma_write"] += n
    kept = draw(buffers(operators))
    header = Header(
        MACHINE, draw(texts), "0" * 64, "internal", "unit",
        tuple(OperatorInfo(i, "ADD", 0) for i in range(operators)),
        MemoryParts(0, 0, 0, 0, 0, 0), dict.fromkeys(PLACES, 300), tuple(kept),
    )  # fmt: skip
    return Run(
        header, MACHINE, draw(st.sampled_from(CLOCKS)), "unit", "replay", cycles,
        {cause: sum(one[cause] for one in spent.values()) for cause in CAUSES},
        tuple(OperatorRun(i, "ADD", one.total(), 1, dict(one)) for i, one in sorted(spent.items())),
        tuple(events), {region: Traffic(**count) for region, count in sorted(moved.items())}, dict(busy), {}, (),
        transferring(events),
    )  # fmt: skip


def result_of(run: Run) -> Result:
    machine = load_machine(MACHINE)
    return Result(run.header.model, machine, "internal", "unit", "replay", 0, run=run, energy=energy(run, machine))
