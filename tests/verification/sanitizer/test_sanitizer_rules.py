"""Each of the sanitizer's rules by itself: single stores, loads and transfers on a board with a data cache."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.machine import load_machine
from mcusim.memory.address_ranges import machine_ranges
from mcusim.memory.cache import data, shadow
from mcusim.memory.ports import core_data
from mcusim.memory.state_layout import AddressRange
from mcusim.model.geometry import Tile
from mcusim.program.program import Buffer, Compute, Header, MemoryParts, OperatorInfo, Program, Span, Transfer
from mcusim.verification.sanitizer.explanations import Diagnosis
from mcusim.verification.sanitizer.observation import Observation
from mcusim.verification.sanitizer.sanitizer import Sanitizer
from tests.support.cases import few

BOARD = "stm32f746g-disco"
RAM, SDRAM = 0x2002_0000, 0x6000_0000
LINE = 32


def call(number: int, operator: int) -> Compute:
    return Compute(number, operator, 0, 1, SimpleNamespace(type="ADD"), Tile(0, 1, 0, 1), ())  # type: ignore[arg-type]


def move(number: int, operator: int, source: int, target: int, size: int = LINE) -> Transfer:
    spans = Span("a", source, size), Span("b", target, size)
    return Transfer(number, "dma2.s0", operator, 0, "input", *spans, number, 0, 1, 0)


class Probe:
    """Calls 10 and 30 with transfer 20, from SDRAM to RAM by default, between them."""

    def __init__(self, transfer: Transfer | None = None, inputs: tuple[Span, ...] = ()) -> None:
        self.machine = load_machine(BOARD)
        self.transfer = transfer or move(20, 1, SDRAM, RAM)
        buffers = tuple(
            Buffer(name, "activation", Span("x", at, 2 * LINE), 0, 9) for name, at in (("ram", RAM), ("sdram", SDRAM))
        )
        infos = tuple(OperatorInfo(i, "ADD", 0) for i in range(2))
        header = Header(BOARD, "m", "", "tinyops", "k", infos, MemoryParts(0, 0, 0, 0, 0, 0), {}, buffers)
        self.program = Program(header, (call(10, 0), self.transfer, call(30, 1)))
        self.emulator = Emulator(self.machine)
        self.memory = self.emulator.memory
        self.sanitizer = Sanitizer(self.program, self.emulator, Span("", 0, 0), list(inputs), False)
        self.memory.install_ranges(machine_ranges(self.machine))
        no_lines = SimpleNamespace(line_at=lambda pc: None, function_at=lambda pc: None)
        self.diagnosis = Diagnosis(self.program, self.sanitizer, no_lines, LINE)  # type: ignore[arg-type]
        self.now = 0

    @property
    def state(self) -> Any:
        return self.memory.state

    def at(self, number: int) -> Probe:
        """The core comes to that call, and ends the one before."""
        for task in self.program.tasks:
            if task.id < number and isinstance(task, Compute):
                self.done(task.id)
            if task.id == number and isinstance(task, Compute):
                self.sanitizer.starts(task, self.later())
        return self

    def done(self, number: int) -> Probe:
        task = next(task for task in self.program.tasks if task.id == number)
        assert isinstance(task, Compute)
        self.sanitizer.ends(task, self.later())
        return self

    def later(self) -> int:
        self.now += 100_000
        self.memory.sync(self.now)
        return self.now

    def store(self, address: int, value: int = 0x1234) -> Probe:
        s, q = self.state, core_data.find(self.state, address)
        core_data.store(s, AddressRange(s, q), address, 4)
        data.put(s, AddressRange(s, q), address, 4, value)
        shadow.stored(s, AddressRange(s, q), address, 4)
        return self

    def load(self, address: int, size: int = 4) -> Probe:
        s, q = self.state, core_data.find(self.state, address)
        core_data.load(s, AddressRange(s, q), address, size)
        shadow.loaded(s, AddressRange(s, q), address, size, 0x0800_0100)
        return self

    def copy(self) -> Probe:
        """The transfer, from its beginning to its end."""
        task, now = self.transfer, self.later()
        dma = self.machine.dma["dma2"]
        watched = self.sanitizer.begins(task, now)
        handle = self.memory.begin_transfer(
            dma, 0, task.source.address, task.destination.address, task.source.bytes, 0, now, 0, watched
        )
        self.memory.advance(now + 90_000)
        end = self.memory.finished(handle)
        assert end is not None
        self.sanitizer.ends(task, end)
        return self

    def clean(self, address: int, size: int = LINE) -> Probe:
        self.memory.maintain(address, size, True, False)
        return self

    def invalidate(self, address: int, size: int = LINE) -> Probe:
        self.memory.maintain(address, size, False, True)
        return self

    def evict(self, address: int) -> Probe:
        """Load what displaces the line of ``address``."""
        cache = self.machine.data_cache
        assert cache is not None
        way = cache.size // cache.ways
        for n in range(1, 40):
            core_data.load(
                self.state,
                AddressRange(self.state, core_data.find(self.state, SDRAM)),
                SDRAM + 2**20 + address % way + n * way,
                4,
            )
        assert shadow.held(self.state, address) == 0
        return self

    def seen(self) -> list[tuple[str, tuple[int, ...]]]:
        return [(one.finding.rule, one.finding.tasks) for one in self.observed()]

    def observed(self) -> list[Observation]:
        return self.diagnosis.all()


def with_output() -> Probe:
    """Call 10 is known to write the transfer's source."""
    probe = Probe()
    assert probe.sanitizer._meant[1] == []
    probe.sanitizer._meant[1] = [(SDRAM, SDRAM + LINE, 1)]
    return probe


def test_nothing_is_seen_of_a_transfer_that_is_waited_for_and_invalidated() -> None:
    probe = Probe().at(10).load(RAM).copy().invalidate(RAM).at(30).load(RAM).load(RAM + 28)
    assert probe.seen() == []


def test_a_line_filled_before_the_transfer_is_stale() -> None:
    probe = Probe().at(10).load(RAM).copy().at(30).load(RAM + 4).load(RAM + 8, 1)
    assert probe.seen() == [("missing-invalidate", (20, 30))]
    (found,) = probe.observed()
    assert (found.address, found.finding.high, found.line, found.pc) == (RAM + 4, RAM + 9, RAM, 0x0800_0100)
    assert "invalidate them between task 20 and task 30" in found.finding.fix
    assert found.operator == 1 and found.buffer == "ram"


def test_without_a_load_before_it_the_line_is_not_stale() -> None:
    assert Probe().at(10).copy().at(30).load(RAM).seen() == []


def test_invalidating_before_the_transfer_is_too_early() -> None:
    probe = Probe().at(10).load(RAM).invalidate(RAM).load(RAM).copy().at(30).load(RAM)
    assert probe.seen() == [("missing-invalidate", (20, 30))]


def test_a_store_in_the_cache_alone_is_not_copied() -> None:
    probe = with_output().at(10)
    for at in range(0, LINE, 4):
        probe.store(SDRAM + at)
    assert probe.done(10).copy().seen() == [("missing-clean", (10, 20))]
    (found,) = probe.observed()
    assert (found.address, found.finding.high, found.line, found.pc) == (SDRAM, SDRAM + LINE, SDRAM, None)
    assert "clean them on the core before task 20" in found.finding.fix


@few(1)
@pytest.mark.parametrize("how", ["clean", "evict"])
def test_a_store_that_was_written_back_is_copied(how: str) -> None:
    probe = with_output().at(10)
    for at in range(0, LINE, 4):
        probe.store(SDRAM + at)
    getattr(probe, how)(SDRAM)
    assert probe.copy().invalidate(RAM).at(30).load(RAM).seen() == []


def test_the_inputs_are_the_applications_stores() -> None:
    span = Span("sdram", SDRAM, LINE)
    probe = Probe(inputs=(span,))
    assert probe.at(10).copy().seen() == []
    dirty = Probe(inputs=(span,)).at(10)
    core_data.store(
        dirty.state, AddressRange(dirty.state, core_data.find(dirty.state, SDRAM)), SDRAM, 4
    )  # as the application does
    dirty.sanitizer.unstored(SDRAM, LINE)
    assert dirty.copy().seen() == [("missing-clean", (20,))]
    assert "the application" in dirty.observed()[0].finding.text


def test_a_dirty_line_under_the_transfers_target() -> None:
    probe = Probe().at(10).store(RAM + 4).copy()
    assert probe.seen() == [("dirty-target", (10, 20))]
    assert f"{RAM + 4:#010x}" in probe.observed()[0].finding.text
    assert Probe().at(10).store(RAM + 4).clean(RAM).copy().seen() == []
    assert Probe().at(10).store(RAM + 4).invalidate(RAM).copy().seen() == []


def test_a_dirty_line_next_to_the_transfers_target_is_shared_whether_it_does_harm_or_not() -> None:
    half = move(20, 1, SDRAM, RAM + 16, 16)
    probe = Probe(half).at(10).store(RAM + 4).copy()
    assert probe.seen() == [("shared-line", (10, 20))]
    assert "begin and end the buffers on lines of 32 B" in probe.observed()[0].finding.fix
    assert Probe(half).at(10).store(RAM + 4).clean(RAM).copy().seen() == []


def test_a_line_written_back_over_the_transfer_destroys_it() -> None:
    half = move(20, 1, SDRAM, RAM + 16, 16)
    probe = Probe(half).at(10).store(RAM + 4).copy().evict(RAM).at(30).load(RAM + 16)
    assert probe.seen() == [("shared-line", (10, 20)), ("shared-line", (20, 30))]
    assert "written back over them" in probe.observed()[1].finding.text
    whole = Probe().at(10).store(RAM + 4).copy().evict(RAM).at(30).load(RAM + 16)
    assert whole.seen() == [("dirty-target", (10, 20)), ("dirty-target", (20, 30))]


def test_a_store_that_is_invalidated_is_lost() -> None:
    half = move(20, 1, SDRAM, RAM + 16, 16)
    probe = Probe(half).at(10).store(RAM + 4).copy().invalidate(RAM).at(30).load(RAM + 4)
    assert probe.seen() == [("shared-line", (10, 20)), ("shared-line", (10, 30))]
    assert "destroyed in the data cache" in probe.observed()[1].finding.text


def test_a_call_that_comes_before_the_transfer_reads_old_bytes() -> None:
    probe = Probe().at(10).at(30).load(RAM)
    assert probe.seen() == [("unordered", (20, 30))]
    assert "had not begun" in probe.observed()[0].finding.text


def test_a_transfer_that_comes_before_the_call_is_written_over_what_that_reads() -> None:
    probe = Probe().copy().at(10).load(RAM)
    assert probe.seen() == [("unordered", (10, 20))]
    assert "already written over" in probe.observed()[0].finding.text


def test_notes_have_an_end() -> None:
    probe = Probe().at(10)
    for n in range(shadow.MOST + 60):
        probe.state.violations.draft.seen = n
        shadow.report(probe.state)
    assert len(probe.sanitizer.violations) == shadow.MOST and probe.sanitizer.lost == 60
