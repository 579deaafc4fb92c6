"""What a native function calls, found without compiling it.

Not modelled: functions that are reached by other ways than a global name, or a name of a module that is a global.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any


def called(function: Any, kind: type) -> Iterator[Any]:
    """The objects of type ``kind`` that the Python ``function`` names, in its module or in modules that it names."""
    known = function.__globals__
    code = (instruction for instruction in dis.get_instructions(function) if instruction.opname != "EXTENDED_ARG")
    for item, following in pairwise([*code, None]):
        if item is None or item.opname != "LOAD_GLOBAL":
            continue
        named = known.get(item.argval)
        if isinstance(named, ModuleType) and following is not None:
            named = getattr(named, str(following.argval), None)
        if isinstance(named, kind):
            yield named
