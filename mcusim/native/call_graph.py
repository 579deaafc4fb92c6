"""What a native function calls, found without compiling it.

Not modelled: functions that are reached by other ways than a global name, or a name of a module that is a global.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any

__all__ = ["called"]


def called(function: Any, kind: type) -> Iterator[Any]:
    """The objects of type ``kind`` that the Python ``function`` names, in its module or in modules that it names."""
    known = function.__globals__
    code = (
        get_instruction
        for get_instruction in dis.get_instructions(function)
        if get_instruction.opname != "EXTENDED_ARG"
    )
    for item, following in pairwise([*code, None]):
        if item is None or item.opname != "LOAD_GLOBAL":
            continue
        module_type = known.get(item.argval)
        if isinstance(module_type, ModuleType) and following is not None:
            module_type = getattr(module_type, str(following.argval), None)
        if isinstance(module_type, kind):
            yield module_type
