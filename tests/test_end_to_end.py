"""From a network to outputs, cycles and energy, as a user asks for it: each core, policy, fidelity and kernel set."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from mcusim.commands.app import main
from mcusim.kernels.kernel_set import set_names
from mcusim.machine import load_machine
from mcusim.machine.cores import CORES
from mcusim.plan.registry import policy_names
from tests.support.cases import few
from tests.support.graphs.litert import LiteRT
from tests.support.kernels.emulated_networks import inputs_of, network, same_everywhere

BOARDS = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}
NETWORK = "ds-cnn"  # convolution, depthwise and pointwise, pooling, fully connected, softmax
MOST = 0.15  # replayed against emulated cycles


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main(["run", NETWORK, *words, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_core_has_its_board() -> None:
    assert BOARDS.keys() == CORES.keys()
    assert {isa: load_machine(board).core.isa for isa, board in BOARDS.items()} == {isa: isa for isa in BOARDS}


@few(3)
@pytest.mark.parametrize("policy", policy_names())
@pytest.mark.parametrize("board", BOARDS.values())
def test_a_network_under_both_fidelities(board: str, policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same memory; cycles near each other, all with a cause; what is computed is what LiteRT computes."""
    words = ["--machine", board, "--policy", policy]
    replayed = run(capsys, *words, "--kernels", "cmsis-gcc12")
    emulated = run(capsys, *words, "--fidelity", "emulate", "--kernels", "cmsis")
    for key in ("peak_bytes", "macs", "policy", "machine"):
        assert replayed[key] == emulated[key], key
    assert abs(replayed["cycles"] / emulated["cycles"] - 1) < MOST
    for row in (replayed, emulated):
        assert sum(row["cycles_by_cause"].values()) == row["cycles"] > row["macs"] / 2
        assert row["latency_ms"] == pytest.approx(1e3 * row["cycles"] / row["clock_hz"])
    same_everywhere(NETWORK, board, policy, 0)


@few(6)
@pytest.mark.parametrize("kernels", set_names())
@pytest.mark.parametrize("board", BOARDS.values())
def test_every_kernel_set_computes_what_litert_does(board: str, kernels: str) -> None:
    same_everywhere("figure-1", board, "internal", 1, kernels)


def test_litert_itself_depends_on_the_input() -> None:
    """Or equal bytes would prove nothing."""
    data = network(NETWORK)[1]
    first, second = (LiteRT(data, keep=False).run(*inputs_of(NETWORK, seed)) for seed in (0, 1))
    assert not np.array_equal(first[0], second[0])
