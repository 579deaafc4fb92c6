"""What a recording sees: loops that wait and others, runs of handlers, stretches of a program of known transfers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mcusim
from mcusim.cpu.system import exception_layout as X
from mcusim.emulator.emulator import Emulator
from mcusim.emulator.recording.handler_runs import handler_runs
from mcusim.emulator.recording.wait_loops import spinning_in
from mcusim.kernels.test_programs import program_path
from mcusim.machine import load_machine
from mcusim.memory.state_layout import TICK

CODE, WORD = 0x200, 0x2000_0000
LOOPS = {
    "ldr r0, [r1]; cmp r0, #0; beq": ("08680028fcd07047", True),
    "subs r4, #1; bne": ("013cfdd17047", False),  # counts
    "ldr r0, [r1], #4; cmp r0, #0; beq": ("51f8040b0028fbd07047", False),  # goes on through memory
    "str r0, [r1]; ldr r0, [r1]; cmp r0, #0; beq": ("086008680028fbd07047", False),  # stores
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_waits_when_no_round_leaves_anything_to_the_next(name: str) -> None:
    code, waits = LOOPS[name]
    emulator = Emulator(load_machine("stm32f746g-disco"))
    emulator.write(CODE, bytes.fromhex(code))
    emulator.set_stack(0x2000_4000, 0)
    emulator.call(CODE)
    emulator.core["r1"], emulator.core["r4"] = WORD, 1000
    assert spinning_in(emulator) is None
    assert emulator.run_until(300).kind == "horizon"
    found = spinning_in(emulator)
    assert (found is not None) is waits
    if found is not None:
        assert found.exits == (CODE + len(code) // 2 - 2,)


def row(kind: int, time: int, line: int = 0, depth: int = 0, first: int = 0) -> tuple[int, int, int, int]:
    return kind | X.FIRST_LINE + line << 4 | depth << 16, time, first, 0


def test_runs_of_handlers_preempted_and_chained() -> None:
    log: Any = np.array(
        [
            row(X.PUSHED, 100),
            row(X.BEGUN, 112, 0, 1, 95),
            row(X.PUSHED, 150),
            row(X.BEGUN, 162, 4, 2, 150),
            row(X.ENDED, 200, 4),
            row(X.POPPED, 210),
            row(X.ENDED, 300, 0),
            row(X.BEGUN, 306, 1, 1, 280),
            row(X.ENDED, 400, 1),
            row(X.POPPED, 410),
            row(X.PUSHED, 500),
            row(X.BEGUN, 512, 2, 1, 500),
        ]
    )
    outer, inner, chained, last = handler_runs(log, 600)
    assert (outer.number, outer.pieces, outer.last) == (16, [(100, 150), (210, 300)], 300)
    assert (inner.number, inner.depth, inner.pieces, inner.end) == (20, 2, [(150, 200), (200, 210)], 200)
    assert (chained.number, chained.pended, chained.pieces) == (17, 280, [(300, 400), (400, 410)])
    assert (last.pieces, last.last) == ([(500, 600)], 600)


def test_waits_of_the_copies_are_as_long_as_these() -> None:
    """Two polled copies, one that is slept for, and one that is refused."""
    found = mcusim.emulate(program_path("dma", "cortex-m4"), "stm32f469i-disco", record=True).recording
    assert found is not None
    waits = [stretch for stretch in found.stretches if stretch.waits and stretch.why == "end"]
    assert [stretch.transfer for stretch in waits] == [0, 1, 2]
    for stretch in waits:
        transfer = found.transfers[stretch.transfer or 0]
        assert transfer.end is not None
        assert stretch.idle / TICK == pytest.approx(transfer.end - transfer.begin, abs=15)
    assert [stretch.waited_for for stretch in found.stretches if stretch.waited_for] == [(0,), (1,), (2,)]
    assert [stretch.end for stretch in found.stretches[:-1]] == [stretch.begin for stretch in found.stretches[1:]]
    assert found.handling(0, found.ticks) == sum(end - begin for begin, end, _ in found.of_transfers)
