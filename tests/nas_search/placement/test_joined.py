"""The native allocators of networks against the planners' own."""

from __future__ import annotations

import numpy as np

from mcusim.nas_search.placement import joined as P
from mcusim.nas_search.placement.placement_layout import PlacedBlock, PlacedBlocks
from mcusim.plan.allocators.greedy import ArenaBlock, greedy_by_size
from mcusim.plan.static_array import ArrayBlock, Phase, first_fit
from tests.support.cases import sample_size


def test_placement_is_that_of_the_allocators() -> None:
    dice = np.random.default_rng(8)
    for _ in range(sample_size(2000, 60)):
        count = int(dice.integers(1, 12))
        state = PlacedBlocks(np.zeros(count * PlacedBlock.WORDS, np.int64))
        lives, blocks, arrays = state.records.table(count)["phases"], list[ArenaBlock](), list[ArrayBlock]()
        for number in range(count):
            first, size = int(dice.integers(10)), int(dice.integers(1, 40))
            last = first + int(dice.integers(4))
            lives[number, 0] = first, last, size
            phases = [Phase(number, first, last, size)]
            blocks.append(ArenaBlock(size, first, last))
            if dice.random() < 0.4:
                more = Phase(number, last + 1, last + 2, int(dice.integers(1, 40)))
                lives[number, 1] = more.first, more.last, more.bytes
                phases.append(more)
            arrays.append(ArrayBlock(tuple(phases)))
        assert P.first_fit_bytes(state, count) == first_fit(arrays).bytes
        lives[:, 1] = 0
        assert P.greedy_bytes(state, count) == greedy_by_size(blocks).bytes
