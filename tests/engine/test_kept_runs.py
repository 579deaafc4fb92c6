"""A replay of kept accesses is the replay: every figure of its JSON, on every axis."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import mcusim
from mcusim.engine import kept_runs
from mcusim.engine.compiled.tables import CompiledEngine
from mcusim.engine.kept_runs import KeptRuns
from mcusim.results import to_json
from tests.support.cases import few, sampled

F746, F469, H743 = "stm32f746g-disco", "stm32f469i-disco", "nucleo-h743zi"
PROGRAMS = [
    ("ds-cnn", F746, "external"),
    ("ds-cnn", F746, "tinyops"),
    ("mobilenet-v1-w0.25-r096", F746, "internal"),
    ("mobilenet-v1-w0.25-r096", F746, "tinyops"),
    ("ds-cnn", H743, "internal"),
    ("ds-cnn", "nucleo-f767zi", "internal"),
    ("ds-cnn", F469, "tinyops"),
    ("mobilenet-v1-w0.25-r096", F469, "internal"),
    ("figure-1", H743, "internal"),  # with a fitted nest: by the engine in SimPy
]
SDRAM = {
    "memory.sdram.clock": "60 MHz",
    "memory.sdram.timing.CL": "3 sdclk",
    "memory.sdram.timing.tRCD": "4 sdclk",
    "memory.sdram.timing.tRP": "4 sdclk",
    "memory.sdram.timing.tRC": "12 sdclk",
    "memory.sdram.timing.tRAS": "7 sdclk",
    "memory.sdram.timing.tWR": "5 sdclk",
    "memory.sdram.timing.refresh": "3 us",
    "memory.sdram.read_overhead": "9 sdclk",
    "memory.sdram.write_overhead": "7 sdclk",
    "memory.sdram.write_fifo": "2",
    "memory.sdram.read_burst": "false",
    "memory.sdram.read_fifo": "2",
    "memory.sdram.width": "32 bit",
    "memory.sdram.mapping": "bank-row-column",
    "dma.dma2.request_setup": "900 cycles",
    "dma.dma2.completion_interrupt": "7 cycles",
    "dma.dma2.beat": "4 B",
}
ONCHIP = {
    "core.clock": "100 MHz",
    "memory.flash.wait_states": "3",
    "memory.sram1.read_latency": "3 cycles",
    "memory.sram1.write_latency": "5 cycles",
    "bus.clock": "54 MHz",
}
LINES = {"memory.flash.accelerator.data_lines": "4", "memory.flash.wait_states": "0"}
CACHES = {  # what gets past them is another thing: replayed access by access
    "cache.data.size": "1 KiB",
    "cache.data.ways": "2",
    "cache.data.policy": "write-through",
    "cache.data.replacement": "random",
    "memory.sdram.attribute": "uncached",
}
OPTIONS = {"sram_budget": "48 KiB", "order": "optimal", "code": "flash", "operator_overhead": "0"}


@contextmanager
def by_simpy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is compiled."""
    with monkeypatch.context() as patch:
        patch.setattr(KeptRuns, "replay", lambda *_: None)
        yield


@contextmanager
def keeping(monkeypatch: pytest.MonkeyPatch, before: int, simpy_too: bool = False) -> Iterator[KeptRuns]:
    """So many replays of a program are not recorded."""
    runs, engine = KeptRuns(before), sys.modules["mcusim.engine.execute"]
    with monkeypatch.context() as patch:
        patch.setattr(engine, "KEPT_RUNS", runs)
        if not simpy_too:
            patch.delattr(engine, "run_program")
        yield runs


def replayed(program: tuple[str, str, str], keys: dict[str, str], options: dict[str, str]) -> Any:
    """The JSON of a replay, or the error."""
    try:
        return to_json(mcusim.simulate(*program, overrides=keys, **options))  # type: ignore[arg-type]
    except mcusim.errors.McusimError as error:
        return str(error)


def axes(board: str) -> list[tuple[dict[str, str], dict[str, str]]]:
    keys = ONCHIP | (SDRAM if "disco" in board else {}) | (CACHES if board != F469 else LINES)
    return [({}, {}), *(({key: value}, {}) for key, value in keys.items()), *(({}, {o: v}) for o, v in OPTIONS.items())]


@few(4)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_axis_gives_the_same_json(program: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    points = [({}, {}), *sampled(axes(program[1]), 14)]
    with by_simpy(monkeypatch):
        simulated = [replayed(program, *point) for point in points]
    fitted = program == PROGRAMS[-1]
    with keeping(monkeypatch, sys.maxsize, fitted) as runs:
        compiled = [replayed(program, *point) for point in points]
        assert all(run.streams is None for run in runs._runs)
    with keeping(monkeypatch, 0, fitted) as runs:
        kept = [replayed(program, *point) for point in points]
        assert any(run.streams for run in runs._runs) != fitted and (runs.bytes > 0) != fitted
    texts = [[json.dumps(result, default=str) for result in side] for side in (simulated, compiled, kept)]
    assert [point for point, *side in zip(points, *texts, strict=True) if len(set(side)) > 1] == []
    assert sum(isinstance(result, dict) for result in kept) > 8


def test_what_changes_devices_alone_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """And each other cache is another stream, which is played when it comes again."""
    program = ("ds-cnn", F746, "external")
    with keeping(monkeypatch, 0) as runs:
        counts = [len(runs._runs) for key, value in (SDRAM | ONCHIP).items() if replayed(program, {key: value}, {})]
        assert counts == [1] * len(counts)
        for number, (key, value) in enumerate(CACHES.items()):
            for _ in range(2):
                assert isinstance(replayed(program, {key: value}, {}), dict)
                assert len(runs._runs) == 2 + number and runs._runs[-1].streams is not None


RANDOM = {"cache.data.replacement": "random", "cache.instruction.replacement": "random"}
FAR_UP = {"memory.sdram.base": "0xC000_0000", "memory.sdram.attribute": "write-back"}
AFTER = {  # a run of the same program: figures that decide what may be kept
    "code word by word": ("internal", {"cache.instruction.size": "0 B"}, {"code": "sram1"}),
    "written through": ("external", {"cache.data.policy": "write-through"}, {}),
    "both caches random": ("external", RANDOM | {"cache.instruction.size": "1 KiB"}, {}),
    "lines far up": ("external", FAR_UP | {"cache.data.line": "8 B"}, {}),
}


@pytest.mark.parametrize("case", AFTER)
def test_after_another_machine_the_replays_are_those_of_simpy(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Third replays, which play what second ones recorded, too."""
    policy, keys, options = AFTER[case]
    program = ("ds-cnn", F746, policy)
    with by_simpy(monkeypatch):
        wanted = replayed(program, keys, options)
    with keeping(monkeypatch, 1, simpy_too=True):
        assert isinstance(replayed(program, {}, options), dict) and isinstance(wanted, dict)
        assert [replayed(program, keys, options) for _ in range(3)] == [wanted] * 3


def test_a_program_that_the_compiled_engine_cannot_end_is_tried_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """And simulated by the engine in SimPy each time."""
    program, tries = ("ds-cnn", F746, "internal"), list[CompiledEngine]()

    def fail(engine: CompiledEngine) -> int:
        tries.append(engine)
        engine.cycles = -1
        return -1

    with by_simpy(monkeypatch):
        wanted, huge = (replayed(program, {}, options) for options in ({}, {"operator_overhead": str(1 << 64)}))
    monkeypatch.setattr(CompiledEngine, "play", fail)
    with keeping(monkeypatch, 0, simpy_too=True) as runs:
        assert [replayed(program, {}, {}) for _ in range(4)] == [wanted] * 4
        assert len(tries) == 2 and runs._runs[0].streams is None
        assert replayed(program, {}, {"operator_overhead": str(1 << 64)}) == huge


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_runs, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(kept_runs, "MOST_PROGRAMS", 3)
    with keeping(monkeypatch, 0) as runs:
        for model in ("mobilenet-v1-w0.25-r096", "ds-cnn", "mobilenet-v1-w0.25-r096", "ds-cnn"):
            for policy in ("internal", "external"):
                mcusim.simulate(model, F746, policy)
                assert runs.bytes <= 1 << 20 and len(runs._runs) <= 3
        assert runs.bytes > 0
    monkeypatch.setattr(kept_runs, "MOST_BYTES", 1 << 17)
    with keeping(monkeypatch, 0) as runs:
        mcusim.simulate("ds-cnn", F746, "external")
        assert runs._runs[0].replays == 1 and runs._runs[0].streams is None
        monkeypatch.delattr(kept_runs, "Streams")  # what is too large is not recorded again
        mcusim.simulate("ds-cnn", F746, "external")
