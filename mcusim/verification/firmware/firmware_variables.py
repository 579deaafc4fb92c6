"""The variables of a program, by address.

Not modelled: parts of a variable (elements, members), and variables without a size in the symbol table.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from mcusim.image.image import Image

ENCLOSING = 8  # symbols looked back at for one that encloses an address


@dataclass(frozen=True, slots=True, order=True)
class Variable:
    """Bytes ``address`` to below ``end``."""

    address: int
    end: int
    name: str

    def place(self, address: int) -> str:
        """``name``, or ``name + 12``."""
        return self.name[:60] + (f" + {address - self.address}" if address > self.address else "")


class ProgramVariables:
    """Those of ``image`` that its symbols give a size; GCC without optimisation gives static ones in .bss no type."""

    def __init__(self, image: Image) -> None:
        objects = (s for s in image.symbols if s.kind in ("object", "label") and s.size)
        self._all = sorted({Variable(s.address, s.address + s.size, s.name) for s in objects})
        self._starts = [variable.address for variable in self._all]

    def at(self, address: int) -> Variable | None:
        """The variable that has the byte, the smallest of several."""
        last = bisect_right(self._starts, address)
        variables = [variable for variable in self._all[max(0, last - ENCLOSING) : last] if address < variable.end]
        return min(variables, key=lambda variable: variable.end - variable.address, default=None)

    def name(self, address: int) -> str | None:
        """The variable with the offset into it, or None."""
        variable = self.at(address)
        return None if variable is None else variable.place(address)
