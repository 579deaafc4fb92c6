"""A firmware's run over time: the core's row has no holes, and the others have what the profile counts."""

from __future__ import annotations

from itertools import pairwise

import pytest

import mcusim
from mcusim.image.symbols import Symbol
from mcusim.kernels.test_programs import FIRMWARE, program_path
from mcusim.results.firmware.firmware_timeline import firmware_lanes
from mcusim.results.firmware.task_stacks import task_stacks

BOARD = "stm32f746g-disco"


def test_lanes_of_the_overlay() -> None:
    result = mcusim.emulate(program_path("overlay", "cortex-m7", FIRMWARE), BOARD, record=True)
    core, *others = firmware_lanes(result)
    assert core.moments[0].start == 0 and core.moments[-1].end == int(result.profile.cycles)
    assert all(one.end == other.start for one, other in pairwise(core.moments))
    kinds = {
        kind: sum(one.end - one.start for one in core.moments if one.kind == kind) for kind in ("asleep", "handler")
    }
    assert kinds["asleep"] == pytest.approx(result.profile.apart["asleep"], abs=len(core.moments))
    spent = sum(one.cycles for one in result.profile.exceptions) + result.profile.apart["exception entry and return"]
    assert kinds["handler"] == pytest.approx(spent, rel=0.01)
    by_name = {lane.name: lane for lane in others}
    assert {lane.group for lane in others} == {"handler", "dma"}
    for one in result.profile.exceptions:
        assert len(by_name[one.name].moments) >= one.count
    for use in result.dma:
        moments = by_name[f"{use.controller}.s{use.stream}"].moments
        assert sum(moment.more["bytes"] for moment in moments) == use.bytes and len(moments) == use.transfers


def test_a_run_that_was_not_recorded_has_no_lanes() -> None:
    assert firmware_lanes(mcusim.emulate(program_path("dma", "cortex-m7"), BOARD)) == []


def test_frames_near_each_other_are_of_one_stack() -> None:
    own = Symbol("stack_a", 0x1000, 0x200, "object", 1, 1)
    shared = Symbol("stacks", 0x2000, 0x800, "object", 1, 1)
    frames = {0x11C0: 0x1180, 0x11E0: 0x11E0, 0x23E0: 0x23A0, 0x27E0: 0x27D0, 0x9000: 0x8FF0}
    found = task_stacks(frames, [own, shared])
    assert [(one.name, one.top, one.used, one.limit) for one in found] == [
        ("stack_a", 0x1200, 0x80, 0x1000),
        ("stacks", 0x2400, 0x60, None),
        ("stacks", 0x2800, 0x30, None),
        (None, 0x9020, 0x30, None),
    ]
