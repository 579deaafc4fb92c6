"""Compiled kernels over tiles that the DMA brings into SRAM: outputs, time, and what is refused."""

from __future__ import annotations

import pytest

from mcusim import compare, simulate, verify
from mcusim.errors import UsageError
from tests.support.cases import few

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"
SMALL = "mnasnet-w0.10-r032-pad"


@few(2)
@pytest.mark.parametrize("board", [F746, F469])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        (SMALL, {}),
        (SMALL, {"buffering": "single"}),
        (SMALL, {"overlay": "input"}),
        (SMALL, {"sram_budget": "20 KiB"}),
        (SMALL, {"without": "fusion,unrolling"}),
        (SMALL, {"without": "kernels"}),
        ("small-cifar", {}),
        ("ds-cnn", {"overlay": "input,filter", "sram_budget": "24 KiB"}),
    ],
)
def test_tiles_are_right_at_any_timing_and_their_bytes_those_of_litert(
    model: str, options: dict[str, object], board: str
) -> None:
    found = verify(model, machine=board, policy="tinyops", runtime="tinyengine", **options)  # type: ignore[arg-type]
    assert not found.wrong, str(found)
    assert found.litert is not None and not found.litert.note
    assert found.untiled is not None and not found.untiled.note


@few(1)
@pytest.mark.parametrize("board", [F469, F746])
@pytest.mark.parametrize("model", ["ds-cnn", "mcunet-vww1"])
def test_a_replay_is_within_5_percent_of_its_emulation(model: str, board: str) -> None:
    emulated, replayed = (
        simulate(model, board, policy="tinyops", runtime="tinyengine", fidelity=fidelity).run
        for fidelity in ("emulate", "replay")
    )
    assert emulated is not None and replayed is not None
    assert replayed.cycles == pytest.approx(emulated.cycles, rel=0.05)
    assert replayed.header.options["in_place"] is False


def test_overlays_pay_where_the_arena_is_in_sdram() -> None:
    policies = ["external", "tinyops"]
    found = compare("mcunet-in1", F469, policies, runtime="tflm,tinyengine", buffer_sizes="largest").rows
    rows = {(row.policy, str(row.planning["runtime"])): row.value("latency_ms") or 0.0 for row in found}
    assert len(rows) == 4 and all(rows.values())
    for runtime in ("tflm", "tinyengine"):
        assert rows["tinyops", runtime] < rows["external", runtime]
    for policy in policies:
        assert rows[policy, "tinyengine"] < rows[policy, "tflm"]


def test_what_tiles_cannot_do_is_refused() -> None:
    for options, says in (
        ({"in_place": True}, "--in-place has no effect with --policy tinyops and --runtime tinyengine"),
        ({"patches": "auto"}, "--patches has no effect under policy tinyops; it is for internal and external"),
        ({"variant": "2023"}, "--variant 2023, whose tensors live longer, is for an interpreter"),
    ):
        with pytest.raises(UsageError, match=says):
            simulate("ds-cnn", F746, policy="tinyops", runtime="tinyengine", **options)  # type: ignore[arg-type]
