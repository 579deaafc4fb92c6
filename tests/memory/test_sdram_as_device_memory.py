"""SDRAM at 0xC000_0000, Device memory by the default map of a Cortex-M7, against 0x6000_0000, write-back."""

from __future__ import annotations

import pytest

from mcusim import simulate
from mcusim.commands.app import main
from mcusim.machine import load_machine
from mcusim.results import to_json
from tests.support.cases import few
from tests.support.graphs.random_net import SEEDS, Net

BOARD = "stm32f746g-disco"
AS_DEVICE = {"memory.sdram.base": "0xC0000000"}  # the attribute follows the address


def test_an_unaligned_load_from_device_memory_faults_as_on_the_board() -> None:
    """Three input channels: a kernel's word loads are not aligned."""
    fault, replayed = (
        simulate("cifar10-arm", BOARD, "external", fidelity=fidelity, overrides=AS_DEVICE).fault
        for fidelity in ("emulate", "replay")
    )
    assert fault is not None and (fault.operator, fault.kind) == (0, "unaligned access")
    assert "the address is Device memory" in fault.text and fault.address is not None and fault.address >> 28 == 0xC
    assert replayed is not None and (replayed.operator, replayed.kind) == (0, "unaligned access")
    for text in (fault.text, replayed.text):
        assert text.endswith(
            "an MPU region over 0xc0000000 (8 MiB; TEX 1, C 1, B 1: write-back, TEX 1, C 0, B 0: uncached), here"
            " --set memory.sdram.attribute=write-back or =uncached"
        )
    normal = {**AS_DEVICE, "memory.sdram.attribute": "uncached"}  # as an MPU region makes it
    assert simulate("cifar10-arm", BOARD, "external", fidelity="emulate", overrides=normal).fault is None


def test_device_memory_is_never_in_the_cache() -> None:
    cached, device = (
        simulate("ds-cnn", BOARD, "external", fidelity="emulate", overrides=overrides).run
        for overrides in (None, AS_DEVICE)
    )
    assert device.counters["dcache_writebacks"] < cached.counters["dcache_writebacks"]
    assert device.by_cause["sdram"] > 2 * cached.by_cause["sdram"]
    assert device.traffic["sdram"].core_read != cached.traffic["sdram"].core_read


def test_the_default_map_says_which_is_which() -> None:
    from mcusim.machine.schema import _attribute

    bases = (0x2000_0000, 0x4000_0000, 0x6000_0000, 0x8000_0000, 0xA000_0000, 0xC000_0000)
    kinds = ["write-back", "device", "write-back", "write-through", "device", "device"]
    assert [_attribute({"device": "sdram", "base": base}) for base in bases] == kinds  # type: ignore[arg-type]
    assert load_machine("stm32f469i-disco").memory["sdram"].attribute == "device"


@few(6)
@pytest.mark.parametrize(("seed", "dtype"), SEEDS)
def test_replay_says_that_a_board_would_fault_where_emulation_does(seed: int, dtype: str) -> None:
    """Random networks: the same operator faults, or none does."""
    graph = Net(seed, dtype).graph_of_all()
    for policy in ("external", "tinyops"):
        faults = [
            simulate(graph, BOARD, policy, "cmsis", fidelity=fidelity, overrides=AS_DEVICE).fault
            for fidelity in ("emulate", "replay")
        ]
        assert len({None if one is None else (one.operator, one.tile, one.kind, one.symbol) for one in faults}) == 1


def test_what_would_fault_is_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    device = [f"--set={key}={value}" for key, value in AS_DEVICE.items()]
    assert main(["run", "cifar10-arm", "--policy", "external", *device]) == 1
    captured = capsys.readouterr()
    assert (
        captured.out.startswith("would fault: unaligned access in operator 0 CONV_2D") and "MPU region" in captured.err
    )
    row = to_json(simulate("cifar10-arm", BOARD, "external", overrides=AS_DEVICE))
    assert row["cycles"] is None and row["fault"]["kind"] == "unaligned access"
    assert simulate("cifar10-arm", BOARD, overrides=AS_DEVICE).fault is None  # nothing is in SDRAM
    assert simulate("cifar10-arm", "stm32f469i-disco", "external").fault is None  # a Cortex-M4 does not mind


def test_transfers_off_their_beats_are_a_warning_of_both_fidelities() -> None:
    for fidelity in ("replay", "emulate"):
        result = simulate("ds-cnn", BOARD, "tinyops", fidelity=fidelity, overrides={"dma.dma2.beat": "4 B"})
        assert [one[:67] for one in result.warnings] == [
            "1 of 55 transfers do not begin or end on a beat of 4 B: a board's d"
        ]
    assert simulate("ds-cnn", BOARD, "tinyops").warnings == ()
