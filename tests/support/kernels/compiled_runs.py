"""What LiteRT's reference kernels make of a model, for what a compiled runtime executes of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from mcusim.model import load_model
from mcusim.model.graph import Graph, Quantization
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.run_config.input_tensors import random_inputs
from mcusim.runtime.runtime import find_runtime
from tests.support.graphs.litert import LiteRT
from tests.support.paths import REPOSITORY


def model_file(name: str) -> Path | None:
    """``name.tflite`` of ``$MCUSIM_MODELS``, by default ``../shared/models`` next to the repository."""
    folder = Path(os.environ.get("MCUSIM_MODELS") or REPOSITORY.parent / "shared" / "models")
    file = folder / f"{name}.tflite"
    return file if file.is_file() else None


def read(name: str) -> tuple[Graph, bytes]:
    """A model file or a network of the zoo, and the bytes that LiteRT takes: it refuses an axis that a tensor has not,
    which biases of person_detect name in the file, not as they are read."""
    file = model_file(name)
    graph = load_model(name if file is None else file)
    return graph, write_tflite(graph) if file is None or name == "person_detect" else file.read_bytes()


def litert_tensors(graph: Graph, data: bytes, seed: int = 0) -> tuple[list[Any], dict[int, Any]]:
    """Inputs of what the runtime executes of ``graph``, and every tensor that LiteRT makes of them from the file;
    not variables, which are handles there."""
    made, runtime = find_runtime("tinyengine").executed(graph), LiteRT(data, keep=True)
    inputs = random_inputs(made, seed)
    ends = [made.tensors[t].quantization for t in made.inputs]
    floats = [graph.tensors[t].dtype == "float32" for t in graph.inputs]
    given = [_real(v, end) if real else v for v, end, real in zip(inputs, ends, floats, strict=True)]
    runtime.run(*given)
    results = [t for op in graph.operators for t in op.outputs if not graph.tensors[t].variable]
    return inputs, {t: runtime.tensor(t) for t in results}


def _real(values: Any, quantization: Quantization | None) -> Any:
    """What quantised values stand for; LiteRT makes the same values of it."""
    assert quantization is not None
    return np.float32(quantization.scales[0]) * (values.astype(np.float32) - quantization.zero_points[0])
