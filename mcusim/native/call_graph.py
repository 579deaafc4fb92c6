"""What a native function names, and so calls, without compiling it.

Not modelled: what is reached by other ways than a global name, or a name of a module that is a global.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any


def named(function: Any) -> Iterator[tuple[str, Any]]:
    """The globals that the Python ``function`` names, with their values; for a module what it names of that."""
    known = function.__globals__
    code = (instruction for instruction in dis.get_instructions(function) if instruction.opname != "EXTENDED_ARG")
    for item, following in pairwise([*code, None]):
        if item is None or item.opname != "LOAD_GLOBAL":
            continue
        name, value = str(item.argval), known.get(item.argval)
        if isinstance(value, ModuleType) and following is not None:
            name, value = f"{name}.{following.argval}", getattr(value, str(following.argval), None)
        yield name, value


def called(function: Any, kind: type) -> Iterator[Any]:
    """The objects of type ``kind`` that the Python ``function`` names."""
    return (value for _, value in named(function) if isinstance(value, kind))
