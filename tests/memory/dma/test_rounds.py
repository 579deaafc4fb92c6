"""Lines of a transfer that are made at once: the same ticks, counts and memories as when every beat is made."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from mcusim.machine import Machine, load_machine, machine_names
from mcusim.machine.description import Dma
from mcusim.memory import state_layout as L
from mcusim.memory.dma import undisturbed
from mcusim.memory.state_builder import dma_ports, set_up
from mcusim.memory.state_layout import MemoryState
from mcusim.memory.system import MemorySystem
from tests.support.cases import sample_size

BOARDS = [name for name in machine_names() if load_machine(name).dma]


def any_dma(dice: random.Random, dma: Dma) -> Dma:
    beat, burst = dice.choice([1, 1, 2, 4]), dice.choice([1, 1, 1, 4, 8])
    threshold = dice.choice(["direct", "1/4", "1/2", "3/4", "full"]) if burst == 1 else "full"
    return replace(dma, beat=beat, burst=burst, threshold=threshold, fifo=max(16, beat * burst))


def any_copy(dice: random.Random, machine: Machine) -> tuple[int, int, int]:
    """Source, target and bytes, aligned to a line or not."""
    reached = [region for region in machine.memory.values() if region.dma]
    source, target = dice.choice(reached), dice.choice([region for region in reached if region.writable])
    most = min(source.size, target.size, 20_000) // 2
    size = dice.choice([dice.randrange(1, 100), dice.randrange(1, 3000), dice.randrange(1, most)])
    places = (region.base + dice.randrange(region.size - size + 1) for region in (source, target))
    first, second = (place & dice.choice([~0, ~31]) for place in places)
    return max(first, source.base), max(second, target.base), size


def played(
    machine: Machine, dma: Dma, copy: tuple[int, int, int], cycle: int, at_once: bool
) -> tuple[list[int], object]:
    """Ticks of the transfer and of a second one, and the state after them."""
    state = MemorySystem(machine).state
    state.now = cycle * L.TICK
    found = []
    for _ in range(2):
        set_up(state.lone_transfer, dma_ports(machine, dma), dma, *copy)
        found.append(int(undisturbed.transfer(state) if at_once else undisturbed.transfer_by_beats(state)))
    state.zero(MemoryState.round_known, MemoryState.round_end)
    state.zero(MemoryState.recent_ranges, MemoryState.recent_ranges)
    return found, state.array.tolist()


@pytest.mark.parametrize("seed", range(10))
def test_lines_at_once_are_beats_one_by_one(seed: int) -> None:
    dice = random.Random(seed)
    for number in range(sample_size(1000, 40)):
        machine = load_machine(dice.choice(BOARDS))
        name = dice.choice(list(machine.dma))
        dma = any_dma(dice, machine.dma[name])
        machine = replace(machine, dma={**machine.dma, name: dma})
        copy, cycle = any_copy(dice, machine), dice.randrange(10**7)
        beats, state = played(machine, dma, copy, cycle, False)
        lines, same = played(machine, dma, copy, cycle, True)
        assert lines == beats and np.array_equal(state, same), (seed, number, machine.name, dma, copy, cycle)


def test_a_round_is_known_of_a_long_copy() -> None:
    machine = load_machine("stm32f746g-disco")
    sdram, dtcm = machine.memory["sdram"].base, machine.memory["dtcm"].base
    state = MemorySystem(machine).state
    set_up(state.lone_transfer, dma_ports(machine, machine.dma["dma2"]), machine.dma["dma2"], sdram, dtcm, 32_768)
    undisturbed.transfer(state)
    begin, end = state.round_begin.now, state.round_end.now
    assert state.round_known and 0 < end - begin < 600 * L.TICK
