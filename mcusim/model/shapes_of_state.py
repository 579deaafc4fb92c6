"""Shape rules of operators that keep state: SVDF and LSTM, as TensorFlow Lite Micro's Prepare functions check them.

Not modelled: what their operators' entries leave out (peepholes, projections, layer norms, coupled gates).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcusim.errors import ModelError, UnsupportedError
from mcusim.model.graph import Tensor
from mcusim.model.operators import CELL_ACTIVATION

Shape = tuple[int, ...]


def svdf(inputs: Sequence[Tensor], options: Mapping[str, Any]) -> list[Shape]:
    """``(batch, units)`` from (batch, inputs), with filters of units x rank and a state of batch x filters x memory."""
    source, features, time, bias, state = inputs
    _rank(source, 2)
    _rank(features, 2)
    _rank(time, 2)
    _dtype(source, "int8")
    rank, (filters, memory) = int(options["rank"]), time.shape
    if not 1 <= rank <= filters or filters % rank:
        raise ModelError(f"{filters} filters are not a multiple of the rank {rank}")
    _is(features, "int8", (filters, source.shape[1]))
    _is(bias, "int32", (filters // rank,))
    _state(state, ("int8", "int16"), source.shape[0] * filters * memory)
    if time.dtype != state.dtype:
        raise UnsupportedError(f"weights '{time.name}' are {time.dtype}, the state '{state.name}' is {state.dtype}")
    return [(source.shape[0], filters // rank)]


def lstm(inputs: Sequence[Tensor], options: Mapping[str, Any]) -> list[Shape]:
    """The input's shape with as many channels as there are units; 12 constants and 2 states follow the input. Of floats
    all are; of int8 the biases have 32 bits, the cell 16."""
    source, hidden, cell = inputs[0], inputs[13], inputs[14]
    floats = source.dtype == "float32"
    matrix, bias, kept = ("float32",) * 3 if floats else ("int8", "int32", "int16")
    if options["activation"] != CELL_ACTIVATION:
        raise UnsupportedError(f"the activation {options['activation']} of an LSTM; {CELL_ACTIVATION} is supported")
    _rank(source, 3)
    _dtype(source, matrix)
    _rank(inputs[1], 2)
    units, batch = inputs[1].shape[0], source.shape[1 if options["time_major"] else 0]
    for index, tensor in enumerate(inputs[1:13]):
        depth = source.shape[2] if index < 4 else units
        _is(tensor, *((matrix, (units, depth)) if index < 8 else (bias, (units,))))
    _state(hidden, (source.dtype,), batch * units)
    _state(cell, (kept,), batch * units)
    return [(*source.shape[:2], units)]


def _rank(tensor: Tensor, count: int) -> None:
    if len(tensor.shape) != count:
        raise ModelError(f"'{tensor.name}' has shape {list(tensor.shape)}; {count} dimensions are needed")


def _dtype(tensor: Tensor, dtype: str) -> None:
    if tensor.dtype != dtype:
        raise UnsupportedError(f"'{tensor.name}' is {tensor.dtype}; {dtype} is supported")


def _is(tensor: Tensor, dtype: str, shape: Shape) -> None:
    _dtype(tensor, dtype)
    if tensor.shape != shape:
        raise ModelError(f"'{tensor.name}' has shape {list(tensor.shape)}, must be {list(shape)}")


def _state(tensor: Tensor, dtypes: tuple[str, ...], elements: int) -> None:
    if not tensor.variable:
        raise ModelError(f"'{tensor.name}' must be a variable (state)")
    if tensor.dtype not in dtypes:
        raise UnsupportedError(f"state '{tensor.name}' is {tensor.dtype}; {' or '.join(dtypes)} is supported")
    if tensor.elements != elements:
        raise ModelError(f"state '{tensor.name}' has {tensor.elements:,} elements; {elements:,} are needed")
