"""Native functions: declared here, compiled together as a library, called from Python by their addresses.

    @native
    def row_of(region: RegionState, address: int) -> int:
        return address >> region.row_shift

The annotations are the signature: ``int`` (64 bits), ``Words`` or a struct, which is an address; an ``int`` or None
comes back. In another native function a call is one of machine code, which LLVM inlines where it pays. From Python it
is a call by ctypes into the stored library (:mod:`mcusim.native.library`), which is built at its first use.

With ``MCUSIM_NATIVE=0`` in the environment they stay Python functions, for a debugger.

Not modelled: recursion, exceptions, and calls by keyword from native code.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cached_property, update_wrapper, wraps
from inspect import signature
from operator import index
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from mcusim.native import library
from mcusim.native.structs import Struct, Words, address_of

F = TypeVar("F", bound=Callable[..., Any])
IN_PYTHON = os.environ.get("MCUSIM_NATIVE") == "0"
Kind = type[int] | type[Words] | type[Struct] | None
_KINDS: dict[str, Kind] = {"int": int, "Words": Words, "None": None}


class Signature(NamedTuple):
    """What a native function takes, and what comes back."""

    parameters: tuple[Kind, ...]
    result: Kind


class NativeFunction:
    """A function of the library. ``inlining``: LLVM's attribute for it, or nothing where LLVM decides."""

    def __init__(self, function: Callable[..., Any], inlining: str = "") -> None:
        update_wrapper(self, function)
        self.py_func, self.inlining = function, inlining
        self.symbol = f"{function.__module__}.{function.__qualname__}"
        self._code: Any = None

    @cached_property
    def signature(self) -> Signature:
        """By its annotations. Raises TypeError for one that no native function takes."""
        described = signature(self.py_func)
        kinds = [self._kind(name, part.annotation) for name, part in described.parameters.items()]
        return Signature(tuple(kinds), self._kind("return", described.return_annotation))

    def _kind(self, name: str, annotation: object) -> Kind:
        kind = self.py_func.__globals__.get(str(annotation))
        if isinstance(kind, type) and issubclass(kind, Struct):
            return kind
        if str(annotation) not in _KINDS:
            raise TypeError(f"{self.symbol}: {name} is {annotation!s}: must be an int, Words or a struct")
        return _KINDS[str(annotation)]

    @cached_property
    def _converters(self) -> list[Callable[[Any], int]]:
        return [index if kind is int else _address_as(kind) for kind in self.signature.parameters]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run its machine code, which is loaded first, and built where there is none."""
        if named:
            arguments = signature(self.py_func).bind(*arguments, **named).args
        code = self._code or self._load()
        return code(*[convert(value) for convert, value in zip(self._converters, arguments, strict=True)])

    def _load(self) -> Any:
        result = None if self.signature.result is None else ctypes.c_int64
        kind = ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * len(self.signature.parameters))
        self._code = kind(library.address(self.symbol))
        return self._code


def _address_as(kind: Kind) -> Callable[[Any], int]:
    """What makes an address of an argument of ``kind``: a struct, or the array that a root begins; words of any."""
    taken = (Words, Struct) if kind is Words else kind
    array_too = kind is Words or (isinstance(kind, type) and issubclass(kind, Struct) and kind.ROOT)

    def address(argument: Any) -> int:
        if isinstance(argument, cast(Any, taken)):
            return address_of(argument)
        if array_too and isinstance(argument, np.ndarray) and argument.dtype == np.int64:
            return int(argument.ctypes.data)
        raise TypeError(f"{type(argument).__name__} where {getattr(kind, '__name__', kind)} is wanted")

    return address


class External:
    """A function of another library that native functions call: its symbol and address, what comes back, what it
    takes (ctypes)."""

    def __init__(self, symbol: str, address: int, result: Any, *parameters: Any) -> None:
        self.symbol, self.address, self.result, self.parameters = symbol, address, result, parameters
        EXTERNALS[symbol] = self


class Callback:
    """A function that C code calls, of the signature that ctypes' ``result`` and ``parameters`` describe."""

    def __init__(self, function: Callable[..., Any], result: Any, parameters: tuple[Any, ...]) -> None:
        self.py_func, self.result, self.parameters, self.inlining = function, result, parameters, ""
        self.symbol = f"{function.__module__}.{function.__qualname__}"

    @property
    def address(self) -> int:
        """Where its machine code begins."""
        return library.address(self.symbol)


COMPILED: list[NativeFunction | Callback] = []
"""Every native function of the modules that are loaded."""
EXTERNALS: dict[str, External] = {}
"""Functions of other libraries, by symbol, of the modules that are loaded."""


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
        COMPILED.append(Callback(function, result, parameters))
        return cast(Callback, COMPILED[-1])

    return made


def _declared(function: F, inlining: str = "") -> F:
    if IN_PYTHON:
        return _in_python(function)
    COMPILED.append(NativeFunction(function, inlining))
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
