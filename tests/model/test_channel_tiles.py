"""Operators in parts of their output channels: every type and shape gives what the whole gives, to the byte."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.model import load_model
from mcusim.model.channel_tiles import channel_tileable, channel_tiled, counts_text, model_operators, parse_counts
from mcusim.model.reordered import reordered
from mcusim.run_config.input_tensors import random_inputs
from mcusim.tuning.layer import graph_of_shape
from mcusim.verification.equivalence import litert_outputs
from tests.support.cases import sample_size

SHAPES = (
    ("CONV_2D", {"in_h": 5, "in_w": 4, "in_c": 3, "out_c": 13, "kernel_h": 3, "kernel_w": 2}),
    ("CONV_2D", {"in_h": 1, "in_w": 1, "in_c": 40, "out_c": 64}),
    ("FULLY_CONNECTED", {"in_h": 1, "in_w": 1, "in_c": 33, "out_c": 21}),
)


@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_parts_give_what_the_whole_gives(kind: str, shape: dict[str, int]) -> None:
    whole = graph_of_shape(kind, shape, "SAME")
    inputs = random_inputs(whole)
    (expected,) = litert_outputs(whole, inputs)[0]
    for count in range(1, shape["out_c"] + 1, sample_size(1, 4)):
        graph = channel_tiled(whole, {0: count})
        assert channel_tiled(graph, {0: count}) is graph
        parts = [graph.tensors[op.outputs[0]].shape[-1] for op in graph.operators[:count]]
        assert sum(parts) == shape["out_c"] and min(parts) >= 1 and len(parts) == count
        if shape["out_c"] >= 4 * count:
            assert all(part % 4 == 0 for part in parts[:-1])
        (found,) = litert_outputs(graph, inputs)[graph.operators[-1].index]
        assert np.array_equal(found, expected)
        assert model_operators(graph) == [0] * (count + (count > 1))


def test_operators_keep_the_models_numbers() -> None:
    whole = load_model("figure-1")
    graph = channel_tiled(whole, {1: 3, 4: 2})
    assert model_operators(graph) == [0, 1, 1, 1, 1, 2, 3, 4, 4, 4, *range(5, len(whole.operators))]
    order = [*range(1, len(graph.operators)), 0]
    assert model_operators(reordered(graph, order)) == [*model_operators(graph)[1:], 0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "is no operator's number"),
        ("3", "is no operator's number"),
        ("3:-1", "is no operator's number"),
        ("3:2,3:2", "operator 3 is named twice"),
        ("3:0", "must be 1 to 4096"),
        ("٣:2", "is no operator's number"),
    ],
)
def test_texts_that_are_no_numbers_by_operator(text: str, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        parse_counts(text)
    assert counts_text(parse_counts(" 73:2, 4:1")) == "4:1,73:2"


def test_what_has_no_parts_is_said() -> None:
    graph = load_model("ds-cnn")
    able = {op.index: channel_tileable(graph, op) for op in graph.operators}
    cut = {graph.operators[number].type for number, against in able.items() if against is None}
    assert cut == {"CONV_2D", "FULLY_CONNECTED"}
    depthwise = next(op.index for op in graph.operators if op.type == "DEPTHWISE_CONV_2D")
    wrong = (({99: 2}, "there is no operator 99"), ({depthwise: 2}, "has no filter"), ({0: 65}, "no 65 part"))
    for counts, text in wrong:
        with pytest.raises(UsageError, match=text):
            channel_tiled(graph, counts)


def test_a_program_with_parts_is_proven_saved_and_played_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Parts of channels and rows, an order, what is read in place; the file says all of it."""
    path = tmp_path / "program.jsonl"
    knobs = ["--channel-tiles", "0:3,3:2", "--row-tiles", "1:6", "--tile-buffer", "2300 B", "--uncopied", "2:input"]
    asked = ["figure-1", "--machine", "stm32f746g-disco", "--policy", "tinyops", "--order", "optimal", *knobs]
    assert main(["verify", *asked, "--json", "-"]) == 0
    verified = json.loads(capsys.readouterr().out)
    assert verified["equivalence"]["litert"]["equal"] and verified["findings"] == []
    assert main(["plan", *asked, "-o", str(path)]) == 0
    capsys.readouterr()
    assert main(["verify", str(path), "--kernels", "cmsis"]) == 0
    outputs = []
    played = ["replay", str(path), "--model", "figure-1"]
    for words in ([*played, "--kernels", "cmsis"], ["run", "figure-1", "--kernels", "cmsis", *asked[1:]]):
        capsys.readouterr()
        assert main([*words, "--fidelity", "emulate", "--json", "-"]) == 0
        run = json.loads(capsys.readouterr().out)
        outputs.append(run["outputs"])
    plain = ["run", "figure-1", "--machine", "stm32f746g-disco", "--kernels", "cmsis", "--policy", "external"]
    assert main([*plain, "--fidelity", "emulate", "--json", "-"]) == 0
    outputs.append(json.loads(capsys.readouterr().out)["outputs"])
    assert outputs[0] == outputs[1] == outputs[2]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--channel-tiles", "99:2"], "there is no operator 99"),
        (["--channel-tiles", "x"], 'channel_tiles = "x"'),
        (["--row-tiles", "99:2"], "--row-tiles: there is no operator 99"),
        (["--uncopied", "2:output"], 'uncopied = "2:output"'),
        (["--tile-buffer", "16 B"], "tile_buffer = 16 B: the smallest tiles of this network take"),
    ],
)
def test_errors_name_the_option(options: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "figure-1", "--machine", "stm32f746g-disco", "--policy", "tinyops", *options]) == 2
    assert error in capsys.readouterr().err
