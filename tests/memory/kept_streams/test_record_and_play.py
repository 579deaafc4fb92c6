"""Random accesses of all kinds, recorded once, played on other devices: as if they were made there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from mcusim.machine import load_machine
from mcusim.memory.kept_streams import layout as K
from mcusim.memory.kept_streams import play, record, streams
from mcusim.memory.kept_streams.streams import Streams
from mcusim.memory.ports import replay
from mcusim.memory.ports.replay import stream_of
from mcusim.memory.state_layout import AccessStream
from mcusim.memory.system import MemorySystem
from tests.support.cases import few

Action = Callable[[MemorySystem], object]
F746 = "stm32f746g-disco"
REGIONS = {"dtcm": 0x2000_0000, "sram1": 0x2001_0000, "sdram": 0x6000_0000, "flash": 0x0800_0000, "qspi": 0x9000_0000}
TIMINGS: list[dict[str, str]] = [
    {},
    {"core.clock": "144 MHz", "memory.sdram.timing.CL": "3 sdclk", "memory.flash.wait_states": "7"},
    {
        "memory.sdram.read_burst": "false",
        "memory.sram1.read_latency": "4 cycles",
        "memory.sram1.write_latency": "9 cycles",
    },
]


def calls(seed: int) -> list[Action]:
    """Of random accesses, cache maintenance between them."""
    rng = np.random.default_rng(seed)
    made: list[Action] = []
    for _ in range(6):
        walks = []
        for _ in range(60):
            region = str(rng.choice([*REGIONS]))
            write = int(rng.integers(2)) if region not in ("flash", "qspi") else 0
            length = int(rng.integers(1, 9000)) if rng.random() < 0.05 else int(rng.integers(1, 90))
            walks.append((2 ** int(rng.integers(3)), write, int(rng.integers(0, 3000)), int(rng.integers(2)),
                          REGIONS[region] + int(rng.integers(6000)), length))  # fmt: skip

        def call(memory: MemorySystem, walks: list[tuple[int, ...]] = walks) -> None:
            stream = AccessStream(np.zeros(AccessStream.WORDS, np.int64))
            for size, write, gap, interleaved, address, length in walks:
                stream.size, stream.write, stream.gap, stream.interleaved = size, write, gap, interleaved
                replay.walk(memory.state, stream, address, length)

        made.append(call)
        first, clean = 0x6000_0000 + int(rng.integers(3000)), bool(rng.integers(2))
        made.append(lambda memory, first=first, clean=clean: memory.maintain(first, 4000, clean, not clean))
    return made


def figures(memory: MemorySystem, actions: list[Action]) -> list[Any]:
    memory.watch_operands([(address, address + 4000) for address in REGIONS.values()])
    results: list[Any] = []
    for action in actions:
        results.append((memory.measure(lambda _, action=action: results.append(action(memory))), memory.state.now))
    return [*results, memory.by_region(), memory.counters(), memory.operand_stalls()]


def recorded(memory: MemorySystem, action: Action, streams: Streams) -> object:
    """What ``action`` returns, which is written down."""
    record.begin(memory.state, streams.state)
    result = action(memory)
    record.end(memory.state, streams.state)
    return result


def played(memory: MemorySystem, number: int, streams: Streams) -> object:
    """The same of what was written down: calls, and maintenance after each."""
    return (play.play_maintenance if number % 2 else play.play_call)(memory.state, streams.state, number)


def streams_of(memory: MemorySystem, calls: int) -> Streams:
    return Streams(calls, len(set(memory.blocks.values())))


@few(4)
@pytest.mark.parametrize("seed", range(20))
def test_played_is_as_made(seed: int) -> None:
    cache = {"cache.data.policy": "write-through"} if seed % 4 == 3 else {}
    cache |= {"memory.sdram.attribute": "uncached"} if seed % 4 == 2 else {}
    actions = calls(seed)
    first = MemorySystem(load_machine(F746, cache))
    kept = streams_of(first, len(actions))
    figures(first, [partial(recorded, action=action, streams=kept) for action in actions])
    assert kept.finish()
    again = [partial(played, number=number, streams=kept) for number in range(len(actions))]
    for timing in TIMINGS:
        exact, other = (MemorySystem(load_machine(F746, cache | timing)) for _ in range(2))
        assert figures(other, again) == figures(exact, actions), timing


def test_what_does_not_fit_an_event_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(most: int, gap: int) -> bool:
        monkeypatch.setattr(streams, "MOST_EVENTS", most)
        memory = MemorySystem(load_machine(F746))
        kept = streams_of(memory, 20)
        for line in range(20):
            address = 0x6000_0000 + 64 * line
            walk = lambda m, a=address: replay.walk(m.state, stream_of(m.state, 4, 0, gap), a, 8)  # noqa: E731
            recorded(memory, walk, kept)
        return not kept.finish()

    assert [failed(20, 0), failed(20, (1 << K.GAP) - 1), failed(20, 1 << K.GAP), failed(0, 0)] == [
        False,
        False,
        True,
        True,
    ]
