"""Instructions by function and source line, for what a firmware's run is reported with.

Not modelled: functions that the compiler has put into others; the line of an instruction is that of the inner one.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.cpu.system import exception_layout as X
from mcusim.emulator.emulator import Emulator
from mcusim.image.image import Image
from mcusim.soc.families.family import family_of, line_name
from mcusim.verification.firmware.finding import Place
from mcusim.verification.firmware.firmware_variables import ProgramVariables


class SourcePlaces:
    """Those of ``image``, which runs on ``emulator``."""

    def __init__(self, emulator: Emulator, image: Image, variables: ProgramVariables) -> None:
        self._emulator, self._image, self._variables = emulator, image, variables

    def at(self, pc: int, callers: Sequence[int] = ()) -> Place:
        """``callers``: where the calls that led there go back to."""
        function, line = self._image.function_at(pc), self._image.line_at(pc)
        source = None if line is None else f"{line[0].rpartition('/')[2]}:{line[1]}"
        before = tuple(self.at(back - 2 & ~1) for back in callers if self._image.function_at(back - 2))
        return Place(pc, None if function is None else function[0], source, before)

    def bytes_at(self, address: int) -> str:
        """The variable, or the address."""
        return self._variables.name(address) or f"{address:#010x}"

    def exception(self, place: int) -> str:
        """``IRQ 56 (DMA2_Stream0)``, ``exception 14``."""
        return self.named(self._emulator, place)

    @staticmethod
    def named(emulator: Emulator, place: int) -> str:
        """The same, without an image."""
        number = X.number_of(place)
        if number < 16:
            return f"exception {number}"
        name = line_name(family_of(emulator.machine) or "", number - 16)
        return f"IRQ {number - 16} ({name})" if name else f"IRQ {number - 16}"

    def handler(self, place: int) -> str:
        """The function that an exception's last entry went to."""
        function = self._image.function_at(self._emulator.interrupts.state.handler[place])
        return f"the handler of {self.exception(place)}" if function is None else function[0]
