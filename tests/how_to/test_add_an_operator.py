"""What a further operator takes: entries in tables of at most four files, besides its C function.

Two operators that the reader does not know are added here as a user would add them: ABS, which fits the rules there
are, and REVERSE_V2, with a rule and parameters of its own. Each is read from a file, planned, replayed and
emulated, and its outputs compared with numpy.
"""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from mcusim import load_model, simulate
from mcusim.errors import UnsupportedError
from mcusim.kernels.kernel_set import FOLDER
from mcusim.model import Graph, Operator, Tensor, geometry, shapes, strided_copy
from mcusim.model import operators as entries
from mcusim.model.operators import OperatorSpec, Traits
from mcusim.model.shape_checks import constant_integers
from mcusim.model.strided_copy import Move, merged
from mcusim.model.tflite.tflite_writer import write_tflite
from tests.support.graphs.small_graphs import activation, constant, one_operator
from tests.support.kernels.tiny_sets import needs_compiler

MANIFEST = 'name = "mine"\nsources = ["mine.c"]\nflags = "-O2"\n'
Addition = tuple[ModuleType, str, str, Any]  # module, table, key, value

ABS = OperatorSpec(
    (1, 1),
    "same",
    "unary",
    table="AbsOptions",
    traits=Traits(elementwise=True, partitionable=True, costed_as="elementwise"),
)
ABS_C = """
#include "kernels.h"
int32_t mine_abs(const struct unary_call *call)
{
    const int8_t *input = call->input;
    int8_t *output = call->output;
    for (int32_t i = 0; i < call->elements; i++) {
        int32_t value = input[i] + call->input_offset;
        value = (value < 0 ? -value : value) + call->output_offset;
        output[i] = (int8_t)(value > call->most ? call->most : value);
    }
    return 0;
}
"""
ABS_LINES = '[kernels.ABS]\nint8 = { symbol = "mine_abs", layout = "unary_call" }\n'

REVERSE_V2 = OperatorSpec((2, 2), "reverse", "move", constants=(1,))
REVERSE_V2_LINES = '[kernels.REVERSE_V2]\nint8 = { symbol = "reference_move", layout = "move_call" }\n'


def reverse(inputs: Sequence[Tensor], _: Any) -> list[tuple[int, ...]]:
    constant_integers(inputs[1], "axes")
    return [inputs[0].shape]


def reverse_move(inputs: Sequence[Tensor], shape: Sequence[int], op: Operator, part: int) -> Move:
    assert inputs[1].data is not None
    steps = [int(np.prod(shape[d + 1 :])) for d in range(len(shape))]
    axes = [int(a) % len(shape) for a in inputs[1].data]
    begin = sum((shape[a] - 1) * steps[a] for a in axes)
    return merged(shape, [-s if d in axes else s for d, s in enumerate(steps)], begin)


def add(patch: pytest.MonkeyPatch, additions: list[Addition], manifest: Path) -> list[str]:
    """Put every addition into its table; returns the files that a user would have edited, without the C source."""
    for module, table, key, value in additions:
        patch.setitem(getattr(module, table), key, value)
    return [*sorted({str(inspect.getsourcefile(module)) for module, *_ in additions}), str(manifest)]


def a_set(tmp_path: Path, lines: str, source: str) -> Path:
    """A kernel set of one's own, not built yet."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "manifest.toml").write_text(f"{MANIFEST}{lines}")
    (folder / "mine.c").write_text(source)
    return folder


def built(folder: Path) -> str:
    from mcusim.commands.app import main

    assert main(["kernels", "build", str(folder), "--out", str(folder.parent / "out")]) == 0
    return str(folder.parent / "out" / "mine")


def saved(graph: Graph, tmp_path: Path) -> Path:
    path = tmp_path / "one.tflite"
    path.write_bytes(write_tflite(graph))
    return path


def emulated(model: Path, kernels: str, data: Any) -> Any:
    """The output of the network's only operator on the emulated core."""
    result = simulate(model, "stm32f746g-disco", kernels=kernels, fidelity="emulate", input=data)
    assert result.fits and result.fault is None
    return result.outputs[0].values


def test_a_file_with_an_operator_that_is_not_known_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = one_operator("ABS", [activation((1, 8, 8, 3))], [activation((1, 8, 8, 3))])
    with monkeypatch.context() as patch:
        add(patch, [(entries, "OPERATORS", "ABS", ABS)], tmp_path)
        path = saved(graph, tmp_path)
        assert load_model(path).operators[0].type == "ABS"
    with pytest.raises(UnsupportedError, match=r"operators mcusim does not know: ABS \(operator 0\)"):
        load_model(path)


@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
def test_an_entry_is_enough_to_plan_and_replay(policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, [(entries, "OPERATORS", "ABS", ABS)], tmp_path)
    size = (1, 96, 96, 8)
    path = saved(one_operator("ABS", [activation(size)], [activation(size)]), tmp_path)
    assert geometry(load_model(path), load_model(path).operators[0]).out_h == 96
    result = simulate(path, "stm32f746g-disco", policy)
    assert result.fits and result.run is not None
    row = result.run.operators[0]
    assert row.type == "ABS" and row.cycles > 96 * 96 * 8
    assert (row.tiles > 1) == (policy == "tinyops")  # partitionable: it is cut into tiles


@needs_compiler
def test_an_operator_that_fits_the_rules_takes_two_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_set(tmp_path, ABS_LINES, ABS_C)
    touched = add(monkeypatch, [(entries, "OPERATORS", "ABS", ABS)], folder / "manifest.toml")
    path = saved(one_operator("ABS", [activation((1, 8, 8, 3))], [activation((1, 8, 8, 3))]), tmp_path)
    data = np.random.default_rng(3).integers(-128, 128, (1, 8, 8, 3)).astype(np.int8)
    wanted = np.minimum(np.abs(data.astype(np.int32)), 127)
    assert np.array_equal(emulated(path, built(folder), data), wanted)
    assert len(touched) == 2


@needs_compiler
def test_an_operator_with_its_own_shape_and_parameters_takes_four(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_set(tmp_path, REVERSE_V2_LINES, (FOLDER / "reference" / "move.c").read_text())
    shutil.copy(FOLDER / "common" / "bytes.c", folder / "bytes.c")
    manifest = folder / "manifest.toml"
    manifest.write_text(manifest.read_text().replace('["mine.c"]', '["mine.c", "bytes.c"]'))
    additions: list[Addition] = [
        (entries, "OPERATORS", "REVERSE_V2", REVERSE_V2),
        (shapes, "RULES", "reverse", reverse),
        (strided_copy, "MOVES", "reverse", reverse_move),
    ]
    touched = add(monkeypatch, additions, manifest)
    ends = [activation((1, 8, 6, 3)), constant([1, 2])], [activation((1, 8, 6, 3))]
    path = saved(one_operator("REVERSE_V2", *ends), tmp_path)
    data = np.random.default_rng(4).integers(-128, 128, (1, 8, 6, 3)).astype(np.int8)
    assert np.array_equal(emulated(path, built(folder), data), data[:, ::-1, ::-1])
    assert simulate(path, "stm32f746g-disco").fits  # replayed: a copy, where a cost profile has nothing of its own
    assert [Path(name).name for name in touched] == ["operators.py", "shapes.py", "strided_copy.py", "manifest.toml"]
