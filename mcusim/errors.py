"""Every error mcusim raises on purpose.

::

    McusimError
    ├── InputError                  the input cannot be read or used        exit status 2
    │   ├── UnitError               a quantity with a wrong or missing unit
    │   ├── MachineError            a machine file or a key of it
    │   ├── ModelError              a model file
    │   │   └── UnsupportedError    operators (or types) the reader does not know
    │   ├── ProgramError            a program (trace) file
    │   ├── StudyError              a study file
    │   ├── ImageError              a program's file, or one that does not fit the machine's memory map
    │   └── UsageError              options that contradict each other or name nothing
    └── NegativeResult              a valid input with a negative answer     exit status 1
        ├── DoesNotFit              a region is too small for what the plan needs
        ├── KernelFault             a compiled kernel broke a rule while it ran
        └── SanitizerHalt           a stale or torn byte was read, and the run was to stop there
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self


class McusimError(Exception):
    """Base class; ``exit_status`` is what the command line returns for it.

    An error of several parts has them in ``lines``, and in ``headline`` what they are of; its text has all of it.
    """

    exit_status = 2
    headline = ""
    lines: tuple[str, ...] = ()

    @classmethod
    def of_lines(cls, headline: str, lines: Sequence[str]) -> Self:
        """An error with a list: of all that is wrong, or of what there is. The command line gives each a line, where
        runs of spaces align columns; the text in one line has single ones."""
        error = cls(f"{headline}: {'; '.join(' '.join(line.split()) for line in lines)}")
        error.headline, error.lines = headline, tuple(lines)
        return error


class InputError(McusimError):
    """The input cannot be read or used."""


class UnitError(InputError):
    """A quantity whose text or unit is not valid."""


class MachineError(InputError):
    """A machine description that breaks a rule; the text names file, line, key, value and rule."""


class ModelError(InputError):
    """A model file that cannot be read."""


class UnsupportedError(ModelError):
    """A model that uses operators or types the reader does not know; all are listed at once."""


class ProgramError(InputError):
    """A program file that is malformed; the text names file, line number and reason."""


class StudyError(InputError):
    """A study file that cannot be used; the text names file, line, key, value and what is wrong."""


class ImageError(InputError):
    """An ELF file that cannot be run on a machine; the text names file, segment or symbol, value and what to do."""


class UsageError(InputError):
    """Options that contradict each other, or a name that means nothing."""


class NegativeResult(McusimError):
    """A valid input with a negative answer."""

    exit_status = 1


class DoesNotFit(NegativeResult):
    """What the plan needs is more than a region has; ``parts`` are the bytes that ``needed`` is the sum of, by name."""

    def __init__(
        self, region: str, needed: int, available: int, what: str, parts: Mapping[str, int] | None = None
    ) -> None:
        super().__init__(
            f"{what} does not fit {region}: needs {needed:,} B, {available:,} B available"
            f" ({needed - available:,} B too many)"
        )
        self.region, self.needed, self.available, self.what = region, needed, available, what
        self.parts = dict(parts or {what.removeprefix("the ").removeprefix("kernels' "): needed})


class KernelFault(NegativeResult):
    """A compiled kernel faulted, wrote where it may not, did not return, or returned an error.

    ``kind`` is a short name, ``pc`` and ``address`` are None where there is none; ``line`` is ``file.c:12``.
    """

    def __init__(
        self,
        operator: int,
        type_: str,
        tile: int,
        tiles: int,
        symbol: str,
        kind: str,
        text: str,
        pc: int | None = None,
        address: int | None = None,
        line: str | None = None,
    ) -> None:
        where = f"operator {operator} {type_}" + (f", tile {tile + 1} of {tiles}" if tiles > 1 else "")
        at = "" if pc is None else f" at PC {pc:#010x}" + (f" ({line})" if line else "")
        super().__init__(f"{where}: kernel {symbol}: {kind}{at}: {text}")
        self.operator, self.type, self.tile, self.tiles, self.symbol = operator, type_, tile, tiles, symbol
        self.kind, self.text, self.pc, self.address, self.line = kind, text, pc, address, line


class SanitizerHalt(NegativeResult):
    """The sanitizer stopped the run; ``observed`` (:class:`mcusim.verification.sanitizer.observation.Observation`) says
    where and why.
    """

    def __init__(self, observed: Any) -> None:
        super().__init__(observed)  # SimPy makes a failed process's exception again from its arguments
        self.observed = observed

    def __str__(self) -> str:
        seen = self.observed
        at = f"operator {seen.operator} {seen.type}, tile {seen.tile + 1} of {seen.tiles}"
        return f"{seen.finding.rule}, {at}: {seen.finding.text}; {seen.finding.fix}"
