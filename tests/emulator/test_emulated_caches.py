"""Caches of the emulated core on recorded traces: what a bare core does, counted by independent models.

The trace comes from a core without this project's hooks, the models from ``tests/support/boards/cache_reference.py``.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import pytest
from unicorn import UC_HOOK_CODE, UC_HOOK_MEM_READ, UC_HOOK_MEM_WRITE, UC_MEM_WRITE

from mcusim.cpu.unicorn_core import UnicornCore
from mcusim.emulator.emulator import Emulator
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine.description import Machine
from tests.support.boards.cache_reference import LINE, Reference
from tests.support.boards.small_cache import POLICIES, PROGRAMS, STACK, board
from tests.support.cases import few

ACCESSES = UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE


def recorded(machine: Machine, kind: int, program: str, function: str, arguments: tuple[int, ...]) -> array[int]:
    """Accesses (or with UC_HOOK_CODE instructions) of a core without our hooks: address << 5 | size << 1 | write."""
    core = UnicornCore(machine)
    image = load_image(program_path(program, "cortex-m7"))
    for place in image.placements(as_started=True):
        core.poke(place.address, place.data)
    found = array("Q")
    if kind == UC_HOOK_CODE:
        core.uc.hook_add(kind, lambda uc, address, size, user: found.append(address << 5 | size << 1))
    else:
        core.uc.hook_add(
            kind,
            lambda uc, made, address, size, value, user: found.append(
                address << 5 | size << 1 | (made == UC_MEM_WRITE)
            ),
        )
    for i, value in enumerate(arguments):
        core[f"r{i}"] = value
    core["sp"], core["lr"] = STACK, core.return_address | 1
    core.uc.emu_start(image.symbol(function).address | 1, core.return_address)
    return found


def unpacked(trace: array[int]) -> Iterator[tuple[int, int, bool]]:
    """Address, size and write of each."""
    return ((one >> 5, one >> 1 & 15, bool(one & 1)) for one in trace)


@few(2)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_data_cache(name: str, policy: str) -> None:
    machine = board(policy)
    program, function, arguments = PROGRAMS[name]
    emulator = Emulator(machine)
    image = load_image(program_path(program, "cortex-m7"))
    emulator.load(image, as_started=True)
    emulator.set_stack(STACK, 0)
    emulator.call(image.symbol(function).address, arguments)
    assert emulator.run().kind == "returned"
    reference, hits, misses = Reference(1024, 4, policy), 0, 0
    for address, size, write in unpacked(recorded(machine, ACCESSES, program, function, arguments)):
        if 0x2000_0000 <= address < 0x2001_0000:
            continue  # DTCM is not cached
        for line in sorted({address // LINE, (address + size - 1) // LINE}):
            hit = reference.access(line * LINE, write)
            hits, misses = hits + hit, misses + (not hit)
    found = emulator.memory.counters()
    assert (found["dcache_hits"], found["dcache_misses"]) == (hits, misses)
    assert found["dcache_writebacks"] == reference.write_backs
    assert misses > 10


@few(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_instruction_cache_misses(name: str) -> None:
    """A line is looked up when the core comes to it: misses are those of the instructions' lines in order."""
    machine = board("lru")
    program, function, arguments = PROGRAMS[name]
    emulator = Emulator(machine)
    image = load_image(program_path(program, "cortex-m7"))
    emulator.load(image, as_started=True)
    emulator.set_stack(STACK, 0)
    emulator.call(image.symbol(function).address, arguments)
    assert emulator.run().kind == "returned"
    reference, misses = Reference(512, 2, "lru"), 0
    for address, size, _ in unpacked(recorded(machine, UC_HOOK_CODE, program, function, arguments)):
        for line in sorted({address // LINE, (address + size - 1) // LINE}):
            misses += not reference.access(line * LINE, False)
    assert emulator.memory.counters()["icache_misses"] == misses
