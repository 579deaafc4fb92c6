"""A network of int16 activations and int8 filters: LiteRT's bytes, TFLM's arena, the cycles of a replay."""

from __future__ import annotations

import numpy as np
import pytest

import mcusim
from mcusim.model import load_model
from mcusim.model.tflite.writer import write_tflite
from mcusim.plan.allocators.tflm_arena import tflm_head
from mcusim.request.settings import Execution
from mcusim.request.tensors import random_inputs
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.tflm import TFLM
from tests.support.graphs.wide import as_int16
from tests.support.programs.plans import DISCOS


@pytest.mark.parametrize(("board", "policy"), [(DISCOS[0], "internal"), (DISCOS[1], "tinyops")])
def test_ds_cnn_of_int16(board: str, policy: str) -> None:
    graph = as_int16(load_model("ds-cnn"))
    data, inputs = write_tflite(graph), random_inputs(graph)
    execution = Execution(inputs=list(inputs))
    emulated = mcusim.simulate(graph, board, policy, "reference", fidelity="emulate", execution=execution)
    wanted = LiteRT(data).run(*inputs)
    assert [np.asarray(one.values).tobytes() for one in emulated.outputs] == [one.tobytes() for one in wanted]
    assert len(np.unique(wanted[0])) > 6
    assert tflm_head(graph) == TFLM(data).head
    replayed = mcusim.simulate(graph, board, policy, "reference-gcc12")
    assert emulated.run is not None
    assert replayed.run is not None
    assert emulated.run.header.peak_bytes == replayed.run.header.peak_bytes
    for one, other in zip(emulated.run.operators, replayed.run.operators, strict=True):
        assert 1 / 1.5 < other.cycles / one.cycles < 1.5, (one.type, other.cycles, one.cycles)
    assert replayed.run.cycles == pytest.approx(emulated.run.cycles, rel=0.15)
    assert not any("int16" in warning for warning in replayed.warnings)
