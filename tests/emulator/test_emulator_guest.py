"""The hooks never disturb the guest: registers and memory after a program are those of a bare Unicorn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from mcusim.cpu import unicorn_core
from mcusim.cpu import unicorn_selftest as selftest
from tests.support.cases import few, sample_size, sampled
from tests.support.code import random_thumb as guest

ISAS = ("cortex-m4", "cortex-m7")
RELAXED = settings(
    max_examples=sample_size(100, 15), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(params=["skip flag", "fallback"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """With Unicorn's flag that skips the state restore, and as on a Unicorn where it is not found."""
    if request.param == "fallback":
        monkeypatch.setattr(unicorn_core, "skip_flag_offset", lambda: None)
    else:
        assert selftest.skip_flag_offset() is not None
    yield request.param


def same_as_bare(program: guest.Program, isa: str) -> guest.Emulator:
    emulator, stop = guest.run_hooked(program, isa)
    assert (stop.kind, stop.fault) == ("returned", None)
    machine = guest.MACHINES[isa]
    core = guest.bare(program, machine)
    assert guest.guest_state(emulator.core) == guest.guest_state(core)
    assert guest.guest_memory(emulator.core, machine) == guest.guest_memory(core, machine)
    for base, data in guest.cleaned_memory(emulator):
        assert data == core.peek(base, len(data)), f"memory behind the cache at {base:#x}"
    return emulator


@few(2)
@pytest.mark.parametrize("isa", ISAS)
@RELAXED
@given(program=guest.programs())
def test_random_programs_leave_what_a_bare_core_leaves(isa: str, mode: str, program: guest.Program) -> None:
    emulator = same_as_bare(program, isa)
    assert emulator.unforeseen == 0
    assert emulator.cycles > 0


def placed(code: str, address: int, **registers: int) -> guest.Program:
    values = {"r6": guest.RAM + 0x400, "r7": guest.RAM + 0x10000 - 2, "r10": guest.RAM + 0x10000 - 8} | registers
    return guest.Program(bytes.fromhex(code), address, data=(0, 1, 2, 3, 4, 5), **values)


# movs r0,#0; cmp r0,#0; ittee eq; ldreq r1,[r6]; ldrdeq r2,r3,[r6,#8]; ldmne r6,{r1-r4}; movne r5,#7; movs r4,#9; bx lr
SPLIT = "0020 0028 06bf 3168 d6e90223 96e81e00 0725 0924 7047"


@few(10)
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("before", sampled(range(0, 24, 2), 4))
@pytest.mark.parametrize("condition", [0, 1])
def test_an_if_then_block_split_by_a_page_border(isa: str, mode: str, before: int, condition: int) -> None:
    code = SPLIT.replace("0020", f"{condition:02x}20", 1)
    emulator = same_as_bare(placed(code, guest.FLASH + 0x1000 - before), isa)
    assert emulator.unforeseen == 0
    assert emulator.instructions == 9
