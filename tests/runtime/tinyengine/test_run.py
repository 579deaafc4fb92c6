"""Networks on kernels that are called straight, in one static array: outputs, time and memory of whole runs."""

from __future__ import annotations

import pytest

from mcusim import compare, simulate, verify
from mcusim.errors import UsageError
from tests.support.cases import few

F746 = "stm32f746g-disco"


def test_vww1_is_as_fast_and_as_small_as_the_facts_ask() -> None:
    """The public firmware executes 33.5 million instructions; it was measured at 128 ms."""
    result = simulate("mcunet-vww1", F746, runtime="tinyengine", fidelity="emulate")
    assert result.run is not None and result.flash is not None
    assert result.run.counters["instructions"] <= 33_500_000
    assert result.value("latency_ms") <= 141
    assert result.verdict is not None and (result.verdict.what, result.verdict.needed) == ("the static array", 93_992)
    assert 505_000 < result.flash.total < 537_000  # 521 kB published


@few(1)
@pytest.mark.parametrize("policy", ["internal", "external"])
@pytest.mark.parametrize("board", [F746, "stm32f469i-disco", "nucleo-h743zi"])
@pytest.mark.parametrize("model", ["mcunet-vww1", "mcunet-in1", "ds-cnn"])
def test_a_replay_is_within_5_percent_of_its_emulation(model: str, board: str, policy: str) -> None:
    if policy == "external" and board == "nucleo-h743zi":
        pytest.skip("it has no SDRAM")
    emulated, replayed = (
        simulate(model, board, policy=policy, runtime="tinyengine", fidelity=fidelity).run
        for fidelity in ("emulate", "replay")
    )
    assert emulated is not None and replayed is not None
    assert replayed.cycles == pytest.approx(emulated.cycles, rel=0.05)
    assert replayed.header.peak_bytes == emulated.header.peak_bytes


@few(2)
@pytest.mark.parametrize("policy", ["internal", "external"])
@pytest.mark.parametrize("in_place", [None, False])
def test_programs_are_right_and_their_bytes_those_of_litert(policy: str, in_place: bool | None) -> None:
    found = verify("mnasnet-w0.10-r032-pad", machine=F746, policy=policy, runtime="tinyengine", in_place=in_place)
    assert not found.wrong, str(found)
    assert found.litert is not None and not found.litert.note
    assert found.untiled is not None and not found.untiled.note


def test_runtimes_are_compared_in_one_table() -> None:
    found = compare("mcunet-vww1", F746, "internal", runtime="tflm,tinyengine", kernels="cmsis-gcc12")
    slow, fast = found.rows
    assert (slow.kernels, fast.kernels) == ("cmsis-gcc12", "tinyengine-gcc12")
    assert (slow.label, fast.label) == ("internal", "internal tinyengine")
    assert slow.value("latency_ms") >= 1.55 * fast.value("latency_ms")
    parts = [(one["cause"], one["what"]) for one in found.to_json()["differences"][0]["parts"]]
    assert ("compute", "PAD") in parts and any(cause == "runtime" for cause, _ in parts)
    assert "internal tinyengine is fastest" in str(found)
    with pytest.raises(UsageError, match="no runtime 'tinyengin', did you mean tinyengine"):
        compare("ds-cnn", F746, "internal", runtime="tflm,tinyengin")


def test_what_it_does_not_do_is_refused() -> None:
    with pytest.raises(UsageError, match="--allocator has no effect with --runtime tinyengine"):
        simulate("ds-cnn", F746, runtime="tinyengine", allocator="greedy", fidelity="emulate")
    with pytest.raises(UsageError, match="has kernels of its own"):
        simulate("ds-cnn", F746, runtime="tinyengine", kernels="cmsis", fidelity="emulate")
