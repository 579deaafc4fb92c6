"""What shape rules are written in: a tensor's dimensions, the integers of a constant, an axis counted from the end.

Each raises ModelError, without naming the operator, for what it does not find.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcusim.errors import ModelError
from mcusim.model.graph import Tensor

Shape = tuple[int, ...]
Options = Mapping[str, Any]
Inputs = Sequence[Tensor]


def rank4(tensor: Tensor, what: str) -> Shape:
    if len(tensor.shape) != 4:
        raise ModelError(f"{what} '{tensor.name}' has shape {list(tensor.shape)}; four dimensions are needed")
    return tensor.shape


def constant_integers(tensor: Tensor, what: str, count: int | None = None) -> list[int]:
    if tensor.data is None or tensor.dtype not in ("int32", "int64"):
        raise ModelError(f"{what} '{tensor.name}' must be int32 or int64 stored in the file, is {tensor.dtype}")
    if tensor.elements > 1024:
        raise ModelError(f"{what} '{tensor.name}' has {tensor.elements} elements; a few are expected")
    values = [int(v) for v in tensor.data.reshape(-1)]
    if count is not None and len(values) != count:
        raise ModelError(f"{what} '{tensor.name}' has {len(values)} values; {count} are needed")
    return values


def axis_of(value: int, rank: int, what: str) -> int:
    if not -rank <= value < rank:
        raise ModelError(f"{what} {value} is not an axis of a tensor of {rank} dimensions")
    return value % rank
