"""Numbers and comments in C, from texts that may hold anything.

Not modelled: letters other than ASCII; they become underscores.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from mcusim.codegen.memory import Constant

LONGEST_COMMENT, LINE = 60, 112


def comment(text: str) -> str:
    """``text`` as it may be within a comment: no end of one, no line, no escape."""
    return re.sub(r"[^A-Za-z0-9_ .,:;=()/x-]", "_", text[: 4 * LONGEST_COMMENT])[:LONGEST_COMMENT]


def array_text(constant: Constant, storage: str = "static const") -> str:
    """The definition of an array in lines of at most 112 characters."""
    values = constant.values
    return f"{storage} {constant.c_type} {constant.name}[{len(values)}] = {{\n{_lines(values)}\n}};\n"


def _lines(values: np.ndarray[Any, Any]) -> str:
    if values.dtype == np.float32:
        words = [f"0x{value:08x}" for value in values.view("<u4").tolist()]
    else:
        words = [_integer(value) for value in values.tolist()]
    widest = max(map(len, words)) + 2
    count = max(1, (LINE - 4) // widest)
    return "\n".join("    " + ", ".join(words[i : i + count]) + "," for i in range(0, len(words), count))


def _integer(value: int) -> str:
    """A number that C reads as what it is, the least ones too."""
    if value == -(2**31):
        return "-2147483647 - 1"
    if value == -(2**63):
        return "-9223372036854775807 - 1"
    return str(int(value))
