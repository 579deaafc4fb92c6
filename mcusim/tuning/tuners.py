"""Tuners: what to try next. Each proposes configurations by their numbers, and is told what they took.

Not modelled: early stopping; a tuner goes on for as many trials as it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from zlib import crc32

import numpy as np

from mcusim.tuning.space import ConfigSpace

__all__ = ["TUNERS", "Tuner", "tuner_named"]


class Tuner:
    """Proposes for ``space``; ``taken`` are the numbers it has proposed, the default configuration first."""

    def __init__(self, space: ConfigSpace, seed: int, task: str) -> None:
        self.space, self.dice = space, np.random.default_rng([seed, crc32(task.encode())])
        self.taken: set[int] = set()
        self.cycles: dict[int, float] = {}  # of what was measured; endless for what gave no right output

    def propose(self, count: int) -> list[int]:
        """Up to ``count`` numbers that were not proposed before; none when the space has no more."""
        found = [] if self.taken else [self.space.number(self.space.default)]
        self.taken.update(found)
        while len(found) < count and (number := self._next()) is not None:
            self.taken.add(number)
            found.append(number)
        return found

    def learn(self, numbers: Sequence[int], cycles: Sequence[float]) -> None:
        """What a batch took."""
        self.cycles.update(zip(numbers, cycles, strict=True))

    def _next(self) -> int | None:
        raise NotImplementedError


class RandomTuner(Tuner):
    """Any configuration that was not tried yet, each as likely as another."""

    def _next(self) -> int | None:
        return self.space.drawn(self.dice, self.taken)


class GridTuner(Tuner):
    """All configurations, one after another."""

    def __init__(self, space: ConfigSpace, seed: int, task: str) -> None:
        super().__init__(space, seed, task)
        self._all = space.allowed()

    def _next(self) -> int | None:
        return next((number for number in self._all if number not in self.taken), None)


TUNERS: Mapping[str, Callable[[ConfigSpace, int, str], Tuner]] = {"random": RandomTuner, "grid": GridTuner}


def tuner_named(name: str, space: ConfigSpace, seed: int, task: str) -> Tuner:
    """The tuner of that name for a task."""
    return TUNERS[name](space, seed, task)
