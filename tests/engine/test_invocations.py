"""Several inferences one after the other: state is kept, caches stay warm; values as TensorFlow Lite Micro's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mcusim import simulate
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.machine import load_machine
from mcusim.model import Graph, load_model
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.plan import plan
from mcusim.program import read_program, write_program
from mcusim.results import Result
from mcusim.run_config.input_tensors import Array, input_series
from mcusim.run_config.kernel_choice import resolve
from mcusim.verification.proof.prove import prove
from tests.support.cases import only_with_all_cases, sampled
from tests.support.graphs.streaming_graphs import lstm, svdf, wake_word
from tests.support.graphs.tflm import TFLM
from tests.support.kernels.kernel_cases import in_floats
from tests.support.paths import shared_model

BOARD = "stm32f746g-disco"
COUNT = 5


def series(graph: Graph) -> list[list[Array]]:
    return input_series(graph, None, COUNT)


def tflm(data: bytes, inputs: list[list[Array]]) -> Array:
    network = TFLM(data)
    return np.stack([network.run(*one)[0] for one in inputs])


def emulated(graph: Graph, policy: str = "internal", kernels: str = "reference", count: int = COUNT) -> Result:
    arrays = [np.stack(values) for values in zip(*input_series(graph, None, count), strict=True)]
    values = arrays if count > 1 else [a[0] for a in arrays]
    return simulate(graph, BOARD, policy, kernels, fidelity="emulate", input=values, invocations=count)


@pytest.mark.parametrize(
    ("policy", "kernels"), [("internal", "reference"), ("external", "cmsis"), ("tinyops", "cmsis")]
)
def test_a_streaming_network_computes_what_tflm_does(policy: str, kernels: str) -> None:
    graph = wake_word(1, 16)
    wanted = tflm(write_tflite(graph), series(graph))
    result = emulated(graph, policy, kernels)
    assert np.array_equal(result.outputs[0].values, wanted)
    assert len({one.tobytes() for one in wanted}) == COUNT
    assert len(result.invocations) == COUNT and result.run is not None
    assert result.invocations[0].cycles == result.run.cycles == emulated(graph, policy, kernels, 1).run.cycles  # type: ignore[union-attr]
    assert all(sum(one.by_cause.values()) == one.cycles for one in result.invocations)


@only_with_all_cases
@pytest.mark.parametrize("make", sampled([lstm, svdf], 1))
def test_random_shapes_with_state_compute_what_tflm_does(make: Callable[[int], Graph]) -> None:
    varied = 0
    for seed in range(24):
        graph = make(seed)
        wanted = tflm(write_tflite(graph), series(graph))
        found = emulated(graph).outputs[0].values
        assert np.array_equal(found, wanted), (seed, found, wanted)
        varied += len(np.unique(wanted)) > 8 and len({one.tobytes() for one in wanted}) == COUNT
    assert varied > 12


def test_an_lstm_of_floats_computes_what_tflm_does() -> None:
    """Within what exp and tanh of two libraries differ by, over the steps of five inferences."""
    for seed in range(6):
        graph = in_floats(lstm(seed), seed)
        free = tflm(write_tflite(graph), series(graph))
        (op,) = graph.operators
        clipped = replace(op, options=op.options | {"cell_clip": 0.02 if seed % 2 else 0.0})
        graph = replace(graph, operators=(clipped,))
        wanted = tflm(write_tflite(graph), series(graph))
        assert not seed % 2 or not np.allclose(wanted, free, rtol=0.1)
        np.testing.assert_allclose(emulated(graph).outputs[0].values, wanted, rtol=1e-4, atol=1e-6)
        assert len(np.unique(wanted)) > 8


@pytest.mark.parametrize("name", ["mww1_okay_nabu", "tflm_keyword_scr"])
def test_real_networks_compute_what_tflm_does(name: str) -> None:
    path = shared_model(f"{name}.tflite")
    graph = load_model(path)
    assert np.array_equal(emulated(graph).outputs[0].values, tflm(path.read_bytes(), series(graph)))


def test_state_is_proved_and_kept_in_a_saved_program(tmp_path: Path) -> None:
    machine = load_machine(BOARD)
    for graph in (wake_word(), lstm(1), svdf(1)):
        for policy in ("internal", "tinyops"):
            program = plan(graph, machine, policy, kernels=resolve("cmsis", "emulate").for_planning("emulate"))
            states = [b for b in program.header.buffers if b.kind == "state"]
            assert {b.name for b in states} == {f"tensor{t.index}" for t in graph.tensors if t.variable}
            assert program.header.memory.state == sum(-(-b.span.bytes // 16) * 16 for b in states)
            assert [f.rule for f in prove(program, machine) if "reads tensor" not in f.text] == []
            write_program(program, tmp_path / "x")
            assert read_program(tmp_path / "x") == program


def test_later_replays_find_warm_caches() -> None:
    graph = wake_word(0, 32)
    cold = simulate(graph, BOARD, "external", "cmsis-gcc12", invocations=3)
    assert cold.run is not None and cold.run.cycles == cold.invocations[0].cycles
    assert cold.invocations[2].cycles < cold.invocations[0].cycles
    assert simulate(graph, BOARD, "external", "cmsis-gcc12").invocations == ()


def test_numbers_of_invocations_that_are_none() -> None:
    for count in (0, -1, 1001, True, 2.5, "none"):
        with pytest.raises(UsageError, match=r"invocations = .*: must be a whole number from 1 to 1,000"):
            simulate(wake_word(), BOARD, invocations=count)  # type: ignore[arg-type]


def test_the_command_takes_and_writes_a_leading_axis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, model = wake_word(), tmp_path / "x.tflite"
    model.write_bytes(write_tflite(graph))
    inputs = np.stack([one[0] for one in series(graph)])
    np.save(tmp_path / "in.npy", inputs)
    options = ["run", str(model), "--fidelity", "emulate", "--invocations"]
    files = ["--input", str(tmp_path / "in.npy"), "-o", str(tmp_path / "out.npy"), "--json", str(tmp_path / "r.json")]
    assert main([*options, str(COUNT), *files, "--show", "timing"]) == 0
    text = capsys.readouterr().out
    assert "Invocations" in text and "mean from 2" in text
    assert np.array_equal(np.load(tmp_path / "out.npy"), tflm(model.read_bytes(), series(graph)))
    rows = json.loads((tmp_path / "r.json").read_text())["invocations"]
    assert len(rows) == COUNT and all(row["cycles"] == sum(row["by_cause"].values()) for row in rows)
    assert main([*options, "4", "--input", str(tmp_path / "in.npy")]) == 2
    assert "has shape 5x1x1x1x8; the model takes 4x1x1x1x8" in capsys.readouterr().err
