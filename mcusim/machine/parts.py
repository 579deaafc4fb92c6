"""Microcontrollers by part number: which family's register blocks and interrupt lines one has.

Not modelled: families of other vendors, and what single members of a family lack.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["FAMILIES", "family_of_part"]

# each family is a folder
_ROOM = "mcusim.soc.families"
FAMILIES = tuple(
    sorted(file.parent.name for file in Path(__file__).parents[2].joinpath(*_ROOM.split(".")).glob("*/blocks.toml"))
)
_PART = re.compile(rf"stm32({'|'.join(FAMILIES)})[0-9a-z]{{1,10}}", re.IGNORECASE)


def family_of_part(part: str) -> str | None:
    """The family of a part such as ``STM32F746NG`` (``f7``), None for one of another family."""
    match = _PART.fullmatch(part)
    return match[1].lower() if match else None
