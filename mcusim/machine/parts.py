"""Microcontrollers by part number: which family's register blocks and interrupt lines one has.

Not modelled: families of other vendors, and what single members of a family lack.
"""

from __future__ import annotations

import re

__all__ = ["FAMILIES", "family_of_part"]

FAMILIES = ("f4", "f7", "h7", "l4")
_PART = re.compile(rf"stm32({'|'.join(FAMILIES)})[0-9a-z]{{1,10}}", re.IGNORECASE)


def family_of_part(part: str) -> str | None:
    """``f4``, ``f7``, ``h7`` or ``l4`` for a part such as ``STM32F746NG``, None for one of another family."""
    match = _PART.fullmatch(part)
    return match[1].lower() if match else None
