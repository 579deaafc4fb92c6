"""Configuration spaces: knobs with their values, rules that leave combinations out, and each configuration's number.

A configuration is the value of each knob, by name; its number counts through all combinations, the last knob fastest.
Not modelled: knobs of continuous values, knobs that are there for some values of others only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import prod

import numpy as np

from mcusim.errors import InputError, UsageError
from mcusim.kernels.scratch_formula import evaluate
from mcusim.units import quoted

KnobValue = int | str
Config = Mapping[str, KnobValue]
MOST_DRAWS = 10_000  # for one configuration that the rules allow


@dataclass(frozen=True)
class Knob:
    """``values`` in their order, the first of them the default where none is named."""

    name: str
    kind: str
    values: tuple[KnobValue, ...]
    default: KnobValue

    def number(self, value: KnobValue) -> int:
        """A value as formulas and cost models see it: itself, or its place where it is a text."""
        return value if isinstance(value, int) else self.values.index(value)


@dataclass(frozen=True)
class ConfigSpace:
    """``rules`` are formulas over ``names`` and the knobs, each more than 0 where a configuration is allowed."""

    knobs: tuple[Knob, ...]
    rules: tuple[str, ...] = ()
    names: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def size(self) -> int:
        """How many combinations of values there are, allowed or not."""
        return prod(len(knob.values) for knob in self.knobs)

    @property
    def default(self) -> Config:
        """The plain configuration. Raises InputError where the rules do not allow it."""
        config = {knob.name: knob.default for knob in self.knobs}
        broken = next((rule for rule in self.rules if not self._holds(rule, config)), None)
        if broken is not None:
            raise InputError(f"the default configuration {shown(config)} breaks the rule {quoted(broken)}")
        return config

    def config(self, number: int) -> Config:
        """The configuration of a number, from 0 to below :attr:`size`."""
        values: dict[str, KnobValue] = {}
        for knob in reversed(self.knobs):
            number, index = divmod(number, len(knob.values))
            values[knob.name] = knob.values[index]
        return {knob.name: values[knob.name] for knob in self.knobs}

    def number(self, config: Config) -> int:
        """The number of a configuration. Raises UsageError for one that is not of this space."""
        number = 0
        if {*config} != {knob.name for knob in self.knobs}:
            raise UsageError(
                f"{shown(config)} is no configuration; one has {', '.join(knob.name for knob in self.knobs)}"
            )
        for knob in self.knobs:
            value = config[knob.name]
            if value not in knob.values or isinstance(value, bool):
                raise UsageError(f"{knob.name} = {value!r}: there are {', '.join(map(str, knob.values))}")
            number = number * len(knob.values) + knob.values.index(value)
        return number

    def numbers(self, config: Config) -> dict[str, int]:
        """Each knob's value as formulas see it."""
        return {knob.name: knob.number(config[knob.name]) for knob in self.knobs}

    def allows(self, config: Config) -> bool:
        """Whether the rules do."""
        return all(self._holds(rule, config) for rule in self.rules)

    def _holds(self, rule: str, config: Config) -> bool:
        try:
            return evaluate(rule, {**self.names, **self.numbers(config)}) > 0
        except InputError as error:
            raise InputError(f"rule {quoted(rule)}: {error}") from None

    def allowed(self) -> Iterator[int]:
        """The numbers of all configurations that the rules allow, in order."""
        return (number for number in range(self.size) if self.allows(self.config(number)))

    def drawn(self, dice: np.random.Generator, taken: set[int]) -> int | None:
        """The number of a configuration that is not ``taken``, drawn at random; None where none is left, or the rules
        leave so few that drawing does not meet one."""
        for _ in range(MOST_DRAWS):
            number = 0
            for knob in self.knobs:
                number = number * len(knob.values) + int(dice.integers(len(knob.values)))
            if number not in taken and self.allows(self.config(number)):
                return number
        if self.size > 50 * MOST_DRAWS:
            return None
        left = [number for number in self.allowed() if number not in taken]
        return int(left[int(dice.integers(len(left)))]) if left else None


def divisors(of: int, most: int) -> tuple[int, ...]:
    """Of a number, up to ``most``: what a loop of so many rounds can be split by."""
    return tuple(part for part in range(1, min(of, most) + 1) if of % part == 0)


def orders(axes: Sequence[str]) -> tuple[str, ...]:
    """Every order of axes, as texts: ``y-x-c``."""
    return tuple("-".join(several) for several in permutations(axes))


def shown(config: Config) -> str:
    """On a line."""
    return ", ".join(f"{name}={value}" for name, value in config.items())
