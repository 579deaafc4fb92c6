"""Native functions: declared by these decorators, compiled together as a library, called from Python by address.

    @native
    def row_of(region: RegionState, address: int) -> int:
        return address >> region.row_shift

The annotations are the signature: ``int`` (64 bits), ``Words`` or a struct, which is an address; an ``int`` or None
comes back. In another native function a call is one of machine code, which LLVM inlines where it pays. From Python it
is a call by ctypes into the stored library (:mod:`mcusim.native.library`), which is built at its first use.

With ``MCUSIM_NATIVE=0`` in the environment they stay Python functions, for a debugger.

Not modelled: a step of ``range`` that may be 0, and whatever else may raise; the build refuses it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from mcusim.native.declarations import COMPILED, Callback, NativeFunction
from mcusim.native.library import address
from mcusim.native.structs import Struct

F = TypeVar("F", bound=Callable[..., Any])
IN_PYTHON = os.environ.get("MCUSIM_NATIVE") == "0"


def native(function: F) -> F:
    """A native function that LLVM inlines where it pays."""
    return _declared(function)


def inlined(function: F) -> F:
    """:func:`native`, inlined wherever it is called: for what is called for every access, from few places."""
    return _declared(function, "alwaysinline")


def shared(function: F) -> F:
    """:func:`native`, never inlined: a part that many functions have, and that takes long to optimise."""
    return _declared(function, "noinline")


def callback(result: Any, *parameters: Any) -> Callable[[Callable[..., Any]], Callback]:
    """A decorator for a function that C code calls; ctypes' types."""

    def made(function: Callable[..., Any]) -> Callback:
        COMPILED.append(Callback(function, address, result, parameters))
        return cast(Callback, COMPILED[-1])

    return made


def _declared(function: F, inlining: str = "") -> F:
    if IN_PYTHON:
        return _in_python(function)
    COMPILED.append(NativeFunction(function, address, inlining))
    return cast(F, COMPILED[-1])


def _in_python(function: F) -> F:
    """``function`` that takes an array for a root, and a root for its words, as native code does."""
    kinds = [function.__globals__.get(str(p.annotation)) for p in signature(function).parameters.values()]
    roots = [kind if isinstance(kind, type) and issubclass(kind, Struct) and kind.ROOT else None for kind in kinds]

    def rooted(root: type[Struct] | None, argument: Any) -> Any:
        if root is not None:
            return argument if isinstance(argument, Struct) else root(argument)
        return argument

    @wraps(function)
    def called(*arguments: Any) -> Any:
        return function(*map(rooted, roots, arguments))

    return cast(F, called)
