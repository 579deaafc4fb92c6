"""What a native function is: its symbol, its signature, and calls from Python to its machine code.

Not modelled: recursion, exceptions, and calls by keyword from native code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property, update_wrapper
from inspect import signature
from operator import index
from typing import Any, NamedTuple, cast

import numpy as np

from mcusim.native.structs import Struct, Words, address_of, array_address

Kind = type[int] | type[Words] | type[Struct] | None
Resolve = Callable[[str], int]
"""Where the machine code of a symbol begins."""
_KINDS: dict[str, Kind] = {"int": int, "Words": Words, "None": None}


class Signature(NamedTuple):
    """What a native function takes, and what comes back."""

    parameters: tuple[Kind, ...]
    result: Kind


class NativeFunction:
    """A function of the library that ``resolve`` loads. ``inlining``: LLVM's attribute for it, or nothing where LLVM
    decides."""

    def __init__(self, function: Callable[..., Any], resolve: Resolve, inlining: str = "") -> None:
        update_wrapper(self, function)
        self.py_func, self.inlining, self._resolve = function, inlining, resolve
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

    def unload(self) -> None:
        """Ask for its machine code again at the next call."""
        self._code = None

    def _load(self) -> Any:
        result = None if self.signature.result is None else ctypes.c_int64
        kind = ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * len(self.signature.parameters))
        self._code = kind(self._resolve(self.symbol))
        return self._code


def _address_as(kind: Kind) -> Callable[[Any], int]:
    """What makes an address of an argument of ``kind``: a struct, or the array that a root begins; words of any."""
    taken = (Words, Struct) if kind is Words else kind
    array_too = kind is Words or (isinstance(kind, type) and issubclass(kind, Struct) and kind.ROOT)

    def address(argument: Any) -> int:
        if isinstance(argument, cast(Any, taken)):
            return address_of(argument)
        if array_too and isinstance(argument, np.ndarray) and argument.dtype == np.int64:
            return array_address(argument)
        raise TypeError(f"{type(argument).__name__} where {getattr(kind, '__name__', kind)} is wanted")

    return address


class External:
    """A function of another library that native functions call: the module that declares it, its symbol and address,
    what comes back, what it takes (ctypes, or as a native function)."""

    def __init__(self, module: str, symbol: str, address: int, result: Any, parameters: tuple[Any, ...]) -> None:
        self.module, self.symbol, self.address = module, symbol, address
        self.result, self.parameters = result, parameters
        EXTERNALS[symbol] = self


class Callback:
    """A function that C code calls, of the signature that ctypes' ``result`` and ``parameters`` describe."""

    def __init__(
        self, function: Callable[..., Any], resolve: Resolve, result: Any, parameters: tuple[Any, ...]
    ) -> None:
        self.py_func, self.result, self.parameters, self.inlining = function, result, parameters, ""
        self._resolve = resolve
        self.symbol = f"{function.__module__}.{function.__qualname__}"

    @property
    def address(self) -> int:
        """Where its machine code begins."""
        return self._resolve(self.symbol)

    def unload(self) -> None:
        """Nothing: its address is asked for each time."""


COMPILED: list[NativeFunction | Callback] = []
"""Every native function of the modules that are loaded."""
EXTERNALS: dict[str, External] = {}
"""Functions of other libraries, by symbol, of the modules that are loaded."""
