"""The faults that handlers of the program took, and which of them is being handled."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mcusim.cpu.system import nvic
from mcusim.cpu.system.exception_layout import ExceptionState
from mcusim.emulator.stops.stop import Fault

MOST_REPEATED = 1000


@dataclass(frozen=True, slots=True)
class TakenFault:
    """A fault that the handler at address ``handler`` of the exception of that name took, ``count`` times.

    ``cfsr`` and ``hfsr``: the bits that it set.
    """

    fault: Fault
    exception: str
    handler: int
    cfsr: int
    hfsr: int
    count: int = 1


class FaultLog:
    """The faults that were taken, by kind, place and address, in the order of the first."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, int, int | None], TakenFault] = {}
        self._open: list[tuple[int, Fault]] = []
        self._last: Fault | None = None
        self._repeated = 0

    @property
    def taken(self) -> tuple[TakenFault, ...]:
        return tuple(self._taken.values())

    def open(self, state: ExceptionState) -> Fault | None:
        """The fault whose handler is active, the last such, by the exceptions' ``state``."""
        while self._open and not nvic.has(state.active, self._open[-1][0]):
            self._open.pop()
        return self._open[-1][1] if self._open else None

    def add(self, index: int, taken_fault: TakenFault) -> None:
        """A handler begins."""
        fault = taken_fault.fault
        key = fault.kind, fault.pc, fault.address
        known = self._taken.get(key)
        self._taken[key] = taken_fault if known is None else replace(known, count=known.count + 1)
        self._open.append((index, fault))

    def again(self, fault: Fault) -> bool:
        """Whether the same fault has been there so often in a row, with the same registers, that it always will be."""
        last, self._last = self._last, fault
        same = last is not None and (last.kind, last.pc, last.registers) == (fault.kind, fault.pc, fault.registers)
        self._repeated = self._repeated + 1 if same else 0
        return self._repeated >= MOST_REPEATED
