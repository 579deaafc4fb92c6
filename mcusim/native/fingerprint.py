"""A digest of all that the translation of one native function depends on: its bytecode, the values it names, the
structs that it reaches, the signatures of what it calls, and the translator.

Not modelled: numbers of lines, docstrings and comments, which change no code.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from typing import Any

from mcusim.native.call_graph import named
from mcusim.native.declarations import Callback, External, NativeFunction
from mcusim.native.objects import PACKAGE
from mcusim.native.structs import Struct


def fingerprint(function: NativeFunction | Callback) -> str:
    """Equal for two functions only if their bitcode is."""
    code = function.py_func.__code__
    constants = [constant for constant in code.co_consts if constant != function.py_func.__doc__]
    parts = [_translator(), _described(function), code.co_code.hex(), repr(constants), repr(code.co_varnames)]
    parts += [repr(code.co_names), *(f"{name} {_described(value)}" for name, value in named(function.py_func))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _described(value: Any) -> str:
    """A value as the function that names it sees it."""
    if isinstance(value, NativeFunction):
        kinds = [*value.signature.parameters, value.signature.result]
        return f"{value.symbol}({', '.join(map(_layout, kinds))})"
    if isinstance(value, Callback | External):
        return f"{value.symbol}({value.parameters}) {value.result}"
    if isinstance(value, type):
        return _layout(value)
    return getattr(value, "__qualname__", None) or repr(value)


_layouts: dict[Any, str] = {}


def _layout(kind: Any) -> str:
    """Every field of a struct, and of those in it or behind its pointers; of another type its name."""
    name = str(getattr(kind, "__qualname__", kind))
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        return name
    if kind not in _layouts:
        fields = (f"{field._replace(kind=None)} {_layout(field.kind)}" for field in kind.FIELDS.values())
        _layouts[kind] = f"{name}: {hashlib.sha256(' '.join(fields).encode()).hexdigest()}"
    return _layouts[kind]


@cache
def _translator() -> str:
    digest = hashlib.sha256(f"{version('numba')} {version('llvmlite')}".encode())
    for path in sorted((PACKAGE / "native").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
