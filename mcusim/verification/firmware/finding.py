"""Findings in a firmware's run: which rule, where in the source, which transfer, and how to mend it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction: ``source`` is ``file.c:12`` by DWARF, None where the image does not say; ``callers`` led to it.

    They are calls, the last one first, of a handler its own.
    """

    pc: int
    function: str | None
    source: str | None
    callers: tuple[Place, ...] = ()

    def text(self) -> str:
        """``main (overlay.c:120)``."""
        if self.function is None:
            return self.source or f"{self.pc:#010x}"
        return f"{self.function} ({self.source or f'{self.pc:#010x}'})"

    def to_json(self) -> dict[str, Any]:
        callers = [caller.to_json() for caller in self.callers]
        return {"pc": self.pc, "function": self.function, "source": self.source, "callers": callers}


@dataclass(frozen=True, slots=True)
class TransferUse:
    """A transfer: whose it is, its registers when it was enabled, the instruction that did so, and when."""

    controller: str
    stream: int
    source: int
    target: int
    size: int
    registers: Mapping[str, int]
    started: Place
    cycle: int

    def text(self) -> str:
        """``DMA2 stream 0``."""
        return f"{self.controller} stream {self.stream}"

    def to_json(self) -> dict[str, Any]:
        names = ("controller", "stream", "source", "target", "size", "cycle")
        own = {name: getattr(self, name) for name in names}
        return {**own, "registers": dict(self.registers), "started": self.started.to_json()}


@dataclass(frozen=True, slots=True)
class FirmwareFinding:
    """``place``: the load, store or start of a transfer that broke ``rule``, the DMA's own accesses have none.

    ``low`` to below ``high`` are the bytes, in ``variable`` by the image's symbols. ``other``: a second instruction
    that the text names. ``cycle`` is that of the first of ``times``; ``seed``: of a run with disturbed timing.
    """

    rule: str
    text: str
    fix: str
    place: Place | None
    low: int
    high: int
    variable: str | None
    times: int
    cycle: int
    transfer: TransferUse | None = None
    other: Place | None = None
    seed: int | None = None

    @property
    def where(self) -> str | int | None:
        """The function of the access, or its address."""
        return None if self.place is None else self.place.function or self.place.pc

    @property
    def variable_name(self) -> str | None:
        """The variable without an offset into it."""
        return None if self.variable is None else self.variable.partition(" + ")[0]

    @property
    def lines(self) -> tuple[str, ...]:
        """Every source line that it names: of the access, the start of the transfer, the other place, and callers."""
        started = None if self.transfer is None else self.transfer.started
        places = [item for item in (self.place, started, self.other) if item is not None]
        named = [item.source for place in places for item in (place, *place.callers)]
        return tuple(dict.fromkeys(text for text in named if text is not None))

    @property
    def source(self) -> str | None:
        """The line that the finding is about: of the access, or of the start of the transfer."""
        if self.place is not None:
            return self.place.source
        return None if self.transfer is None else self.transfer.started.source

    def to_json(self) -> dict[str, Any]:
        """As ``mcusim verify --json`` lists it."""
        places = {"place": self.place, "other": self.other, "transfer": self.transfer}
        return {
            "rule": self.rule,
            "text": self.text,
            "fix": self.fix,
            "source": self.source,
            "bytes": [self.low, self.high],
            "variable": self.variable,
            "times": self.times,
            "cycle": self.cycle,
            "seed": self.seed,
            **{name: None if item is None else item.to_json() for name, item in places.items()},
        }
