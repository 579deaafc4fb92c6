"""Stacks of tasks: frames on the process stack put together by where they lie.

Not modelled: what a scheduler saves below a frame by another register than SP, tasks that were never interrupted, and
which of two tasks whose stacks lie within 128 bytes of each other a frame is of (they count as one).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcusim.image.symbols import Symbol

FRAME = 32  # bytes
NEAR = 128


@dataclass(frozen=True, slots=True)
class TaskStack:
    """A stack that PSP was in: from ``low``, the lowest address stored to, to ``top``, as far as it was seen to reach.

    ``name`` is the object of the program that it lies in; ``limit`` its first address where it has no other stack.
    """

    name: str | None
    low: int
    top: int
    limit: int | None

    @property
    def used(self) -> int:
        """Bytes."""
        return self.top - self.low


def task_stacks(frames: Mapping[int, int], symbols: Iterable[Symbol]) -> tuple[TaskStack, ...]:
    """The stacks with ``frames``: address of each, and the lowest address stored to at that time."""
    spans: list[list[int]] = []
    for frame, low in sorted(frames.items(), key=lambda item: item[1]):
        if spans and low <= spans[-1][1] + NEAR:
            spans[-1][1] = max(spans[-1][1], frame + FRAME)
        else:
            spans.append([low, frame + FRAME])
    objects = [symbol for symbol in symbols if symbol.kind == "object" and symbol.size]
    within = [_around(objects, low, top) for low, top in spans]
    stacks = []
    for (low, top), symbol in zip(spans, within, strict=True):
        alone = symbol is not None and sum(other is symbol for other in within) == 1
        limit = symbol.address if symbol is not None and alone else None
        end = symbol.address + symbol.size if symbol is not None else 0
        highest = end if alone and end - top <= NEAR else top
        stacks.append(TaskStack(symbol.name if symbol else None, low, highest, limit))
    return tuple(stacks)


def _around(objects: Iterable[Symbol], low: int, top: int) -> Symbol | None:
    return next((symbol for symbol in objects if symbol.address <= low and top <= symbol.address + symbol.size), None)
