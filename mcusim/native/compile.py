"""How this package compiles its native functions.

Each is compiled once, for the types its annotations name (``State``: a contiguous int64 array; ``int``: int64), and
kept on disk; left to itself numba would compile a copy for every mix of integer types it is called with.
``_nrt=False``: no function here allocates, and without it every call counts references to the array.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeVar, cast

from numba import njit, types

from mcusim.native.stale_code import forget_outdated
from mcusim.native.words import INT64_WORDS

forget_outdated()

__all__ = ["State", "inlined", "native"]

State = Any  # a contiguous int64 array, whose slots a layout of :mod:`mcusim.native.records` names

_options: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}
F = TypeVar("F", bound=Callable[..., Any])

_TYPES = {
    "State": INT64_WORDS,
    "int": types.int64,
    "None": types.void,
    "tuple[int, int]": types.UniTuple(types.int64, 2),  # type: ignore[no-untyped-call]
}


def native(function: F) -> F:
    """``numba.njit`` with the signature from the annotations, numpy's error model and the on-disk cache."""
    return _compiled(function, _options)


def inlined(function: F) -> F:
    """:func:`native`, written out wherever it is called: for what is called for every access, from few places."""
    return _compiled(function, {**_options, "forceinline": True})


def _compiled(function: F, options: dict[str, Any]) -> F:
    described = signature(function)
    arguments = (_TYPES[str(parameter.annotation)] for parameter in described.parameters.values())
    result = _TYPES[str(described.return_annotation)]
    compile_: Any = njit
    described_as = result(*arguments)
    try:
        return cast(F, compile_(described_as, **options)(function))
    except RuntimeError:  # no folder to keep compiled code in: neither the package's nor the user's can be written
        return cast(F, compile_(described_as, **{**options, "cache": False})(function))
