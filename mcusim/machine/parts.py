"""Microcontrollers by part number: which family's register blocks and interrupt lines one has.

Each family is a folder of :mod:`mcusim.soc.families`. Not modelled: families of other vendors, and what single members
of a family lack.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_FAMILIES = "mcusim.soc.families"
_FOLDER = Path(__file__).parents[2].joinpath(*_FAMILIES.split("."))
_PART = re.compile(r"stm32([a-z][0-9])[0-9a-z]{1,10}", re.IGNORECASE)


@cache
def families() -> tuple[str, ...]:
    """The names of the families that are described: ``f4`` and so on."""
    return tuple(sorted(file.parent.name for file in _FOLDER.glob("*/blocks.toml")))


def family_of_part(part: str) -> str | None:
    """The family of a part such as ``STM32F746NG`` (``f7``), None for one of another family."""
    match = _PART.fullmatch(part)
    return match[1].lower() if match and match[1].lower() in families() else None
