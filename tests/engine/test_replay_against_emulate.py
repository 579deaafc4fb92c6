"""Replay with the profile of a compiled set against that set emulated: per operator over whole networks.

The floors: median difference of an operator's cycles at most 5 %, worst at most 15 %, peak bytes identical. Two kinds
of operators do not hold the worst and have a bound of their own, :data:`BEYOND`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import mcusim
from tests.support.cases import few, only_with_all_cases, sample_size, sampled
from tests.support.kernels.emulated_networks import INSTEAD, NETWORKS, POLICIES, network
from tests.support.programs.plans import DISCOS

MEDIAN, WORST = 0.05, 0.15
# SOFTMAX leaves out inputs far below the largest: the data decide, and a replay has none. CONCATENATION of SwiftNet
# waits for every beat of simultaneous transfers in an uncached SDRAM, a replay for an average.
# The byte loop that cmsis-nano's RESHAPE is takes as long as the flash line that a linker puts it in lets it.
BEYOND = {("SOFTMAX", ""): 0.65, ("CONCATENATION", "swiftnet_vwwc19_uint8 stm32f469i-disco tinyops"): 0.25}
BEYOND["RESHAPE", "vww_96_int8 stm32f469i-disco internal"] = 0.25
# two outputs of cmsis-2020 on a Cortex-M7: a thousand cycles, a sixth of them what its predictor makes of short loops
BEYOND["FULLY_CONNECTED", "vww_96_int8 stm32f746g-disco internal"] = 0.2
QUICK = [("ds-cnn", DISCOS[0], "internal"), ("ds-cnn", DISCOS[1], "external"), ("figure-1", DISCOS[0], "tinyops")]
Differences = dict[str, float]


def differences(name: str, board: str, policy: str, kernels: str = "cmsis") -> Differences:
    """By operator: cycles replayed over cycles emulated, less 1. The memory they need must be the same."""
    graph, _ = network(name)
    emulated = mcusim.simulate(graph, board, policy, kernels, fidelity="emulate").run
    replayed = mcusim.simulate(graph, board, policy, f"{kernels}-gcc12").run
    assert emulated is not None
    assert replayed is not None
    assert replayed.header.peak_bytes == emulated.header.peak_bytes
    assert [op.index for op in replayed.operators] == [op.index for op in emulated.operators]
    return {
        f"{name} {board} {policy} {one.index} {one.type}": other.cycles / one.cycles - 1
        for one, other in zip(emulated.operators, replayed.operators, strict=True)
    }


def bound(name: str) -> float:
    return next((most for (kind, where), most in BEYOND.items() if name.endswith(kind) and where in name), WORST)


def hold_floors(found: Differences) -> None:
    beyond = {name: f"{value:+.1%}" for name, value in found.items() if abs(value) > bound(name)}
    assert not beyond
    assert np.median(np.abs(list(found.values()))) <= MEDIAN


@few(1)
@pytest.mark.parametrize(("name", "board", "policy"), QUICK)
def test_small_networks_replay_as_they_emulate(name: str, board: str, policy: str) -> None:
    hold_floors(differences(name, board, policy))


def runs() -> Iterable[tuple[str, str, str]]:
    for name in NETWORKS:
        for board in DISCOS:
            for policy in POLICIES:
                yield name, INSTEAD.get((name, board, policy), board), policy


@only_with_all_cases
def test_every_network_replays_as_it_emulates() -> None:
    """Networks whose outputs are compared with LiteRT's, on both boards under three policies."""
    found: Differences = {}
    for name, board, policy in sampled(dict.fromkeys(runs()), 3):
        found |= differences(name, board, policy)
    assert len(found) > sample_size(1000, 20)
    hold_floors(found)


@only_with_all_cases
@pytest.mark.parametrize("kernels", ["cmsis-2020", "reference", "cmsis-nano", "cmsis-2020-os"])
@pytest.mark.parametrize("board", DISCOS)
def test_the_other_sets_too(board: str, kernels: str) -> None:
    hold_floors(differences("vww_96_int8", board, "internal", kernels))
