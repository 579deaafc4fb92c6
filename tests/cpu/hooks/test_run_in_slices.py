"""A run cut into slices is the run: cycles, counters, profile, registers, memory and output are the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcusim.emulator.emulator import Emulator
from mcusim.emulator.profile import profile
from tests.support.cases import few, only_with_all_cases, sample_size, sampled
from tests.support.code import random_thumb as guest
from tests.support.code.started_programs import ELFS, ISAS, started

RELAXED = settings(max_examples=sample_size(30, 8), suppress_health_check=[HealthCheck.too_slow])
LENGTH = 60_000  # instructions of an ELF that are compared


def outcome(emulator: Emulator) -> dict[str, Any]:
    """All that a run leaves behind."""
    found = profile(emulator)
    return {
        "cycles": emulator.cycles,
        "instructions": emulator.instructions,
        "unforeseen": emulator.unforeseen,
        "counters": emulator.memory.counters(),
        "regions": emulator.memory.by_region(),
        "causes": found.causes,
        "by instruction": {at: (cost.issued, cost.cycles, cost.data) for at, cost in found.instructions.items()},
        "calls": sorted(found.calls, key=lambda call: (call.site, call.callee)),
        "branches": found.branches,
        "registers": guest.guest_state(emulator.core),
        "memory": guest.guest_memory(emulator.core, emulator.machine),
    }


def run_in_slices(emulator: Emulator, horizons: list[int]) -> Any:
    for horizon in horizons:
        stop = emulator.run_until(horizon)
        if stop.kind != "horizon":
            return stop
        assert emulator.cycles >= horizon
    return emulator.run()


@pytest.mark.parametrize("isa", ISAS)
@RELAXED
@given(program=guest.programs(20), data=st.data())
def test_random_programs_in_slices(isa: str, program: guest.Program, data: st.DataObject) -> None:
    whole, stop = guest.run_hooked(program, isa)
    assert stop.kind == "returned"
    times = st.integers(0, whole.cycles + 3)
    horizons = sorted(data.draw(st.one_of(st.lists(times, max_size=40), st.just(range(whole.cycles + 1)))))
    cut = guest.hooked(program, isa)
    assert run_in_slices(cut, list(horizons)[:1000]).kind == "returned"
    assert outcome(cut) == outcome(whole)


@only_with_all_cases
@pytest.mark.parametrize("isa", ISAS)
@RELAXED
@given(program=guest.programs(20), length=st.integers(1, 9))
def test_random_programs_a_few_instructions_at_a_time(isa: str, program: guest.Program, length: int) -> None:
    whole, _ = guest.run_hooked(program, isa)
    cut = guest.hooked(program, isa)
    before = -1
    while (stop := cut.run(max_instructions=length)).kind == "limit":
        assert cut.instructions >= before + length
        before = cut.instructions
    assert stop.kind == "returned"
    assert outcome(cut) == outcome(whole)


@few(6)
@pytest.mark.parametrize("count", [1, 30, 1000])
@pytest.mark.parametrize(("name", "isa"), sampled(ELFS, 5))
def test_programs_in_slices(name: str, isa: str, count: int) -> None:
    whole, printed = started(name, isa)
    stop = whole.run(max_instructions=LENGTH)
    cut, output = started(name, isa)
    chance = random.Random(f"{name} {isa} {count}")
    for horizon in sorted(chance.randrange(whole.cycles) for _ in range(count)):
        last = cut.run_until(horizon)
        if last.kind != "horizon":
            break
    while last.kind in ("horizon", "limit") and cut.instructions < whole.instructions:
        last = cut.run(max_instructions=whole.instructions - cut.instructions)
    assert last == stop or (last.kind, stop.kind) == ("horizon", "limit")
    assert outcome(cut) == outcome(whole)
    assert b"".join(output) == b"".join(printed)


@pytest.mark.parametrize(("name", "isa"), sampled(ELFS, 5))
def test_programs_limited_by_instructions(name: str, isa: str) -> None:
    whole, printed = started(name, isa)
    stop = whole.run(max_instructions=LENGTH)
    cut, output = started(name, isa)
    chance = random.Random(f"{name} {isa}")
    while (last := cut.run(max_instructions=min(chance.randrange(1, 400), LENGTH - cut.instructions))).kind == "limit":
        if cut.instructions >= LENGTH:
            break
    assert last == stop
    assert outcome(cut) == outcome(whole)
    assert b"".join(output) == b"".join(printed)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("before", sampled(range(0, 24, 2), 4))
def test_a_cut_inside_an_if_then_block(isa: str, before: int) -> None:
    """A page border splits the block in two, and the run stops between them: the second half keeps its conditions."""
    code = bytes.fromhex("01200028 06bf 31680121 02220223 7047")  # cmp; ittee eq; ldr, movs, movs, movs; bx lr
    address, low = guest.FLASH + 0x1000 - before, guest.RAM + 0x400
    program = guest.Program(code, address, low, low, low, (9, 9, 9, 9, 9, 9))
    whole, _ = guest.run_hooked(program, isa)
    cut = guest.hooked(program, isa)
    while (stop := cut.run(max_instructions=1)).kind == "limit":
        pass
    assert stop.kind == "returned"
    assert outcome(cut) == outcome(whole)
    assert [cut.core[f"r{i}"] for i in range(4)] == [1, 9, 2, 2]


@pytest.mark.parametrize("isa", ISAS)
def test_the_horizon_is_not_overshot_by_more_than_a_block(isa: str) -> None:
    """Two-sided: a block that would begin before the horizon runs, one at or after it does not."""
    emulator, _ = started("integer", isa)
    emulator.run(max_instructions=1000)
    now = emulator.cycles
    assert emulator.run_until(now).kind == "horizon"
    assert emulator.cycles == now
    before = emulator.instructions
    assert emulator.run_until(now + 1).kind == "horizon"
    assert emulator.instructions > before
