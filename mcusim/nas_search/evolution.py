"""Evolution of networks in a space, under a board's memories: TinyNAS's second step.

Settings are the paper's (Lin et al. 2020): a population of 100, of which the best 20 are parents, 50 crossovers and 50
mutations of a tenth of the genes in each of 30 generations; only networks that fit live. A budget of random draws is
spent alike. Not modelled: training; the score is what a scorer says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcusim.errors import Verdict
from mcusim.nas_search.figures import network_figures
from mcusim.nas_search.space import DEPTHS, EXPANSIONS, KERNELS, NasNetwork, NasSpace, drawn, normalised
from mcusim.nas_search.stats import NasRules

__all__ = ["PAPER", "Candidate", "EvolutionSettings", "evolved", "random_search"]

Array = np.ndarray[Any, np.dtype[np.int64]]
Scorer = Callable[[Sequence[Mapping[str, Any]]], Sequence[float]]
Scores = dict[tuple[int, ...], float]
MOST_DRAWS = 200  # batches of random networks until enough fit


@dataclass(frozen=True)
class EvolutionSettings:
    """Numbers of networks: ``population``, ``parents``, ``crossovers`` and ``mutations`` of each of ``generations``,
    and the share of genes that a mutation changes."""

    population: int = 100
    parents: int = 20
    crossovers: int = 50
    mutations: int = 50
    rate: float = 0.1
    generations: int = 30

    @property
    def budget(self) -> int:
        """Networks that are scored in all."""
        return self.population + self.generations * (self.crossovers + self.mutations)


PAPER = EvolutionSettings()


@dataclass(frozen=True)
class Candidate:
    """A network that fits, with its ``score`` and what it computes and needs; ``genes`` as drawn."""

    network: NasNetwork
    genes: tuple[int, ...]
    score: float
    macs: int
    ram: int
    flash: int

    def to_json(self) -> dict[str, Any]:
        """What a training script reads, with what the network needs."""
        return {**self.network.to_json(), "score": self.score, "macs": self.macs, "ram": self.ram, "flash": self.flash}

    @property
    def key(self) -> tuple[float, tuple[int, ...]]:
        """To sort by: the best first, equal ones always alike."""
        return -self.score, self.genes


class NetworkJudge:
    """Scores the networks of a space that fit, each once."""

    def __init__(self, space: NasSpace, rules: NasRules, scorer: Scorer, known: Scores | None = None) -> None:
        self.space, self.rules, self.scorer = space, rules, scorer
        self.known: Scores = {} if known is None else known

    def candidates(self, genes: Array) -> list[Candidate]:
        """Of those rows that fit."""
        rules = self.rules
        if not len(genes):
            return []
        found = network_figures(self.space, genes, rules.runtime, rules.isa, rules.in_place)
        kept = np.flatnonzero(found.fitting(rules.ram, rules.flash))
        networks = [NasNetwork.of(self.space, genes[i]) for i in kept]
        keys = [tuple(genes[i].tolist()) for i in kept]
        figures = [(int(found.macs[i]), int(found.ram[i]), int(found.flash[i])) for i in kept]
        described = [
            {**network.to_json(), **dict(zip(("macs", "ram", "flash"), own, strict=True))}
            for network, own in zip(networks, figures, strict=True)
        ]
        new = {key: one for key, one in zip(keys, described, strict=True) if key not in self.known}
        scores = self.scorer([*new.values()]) if new else ()
        self.known |= dict(zip(new, scores, strict=True))
        return [
            Candidate(network, key, self.known[key], *own)
            for network, key, own in zip(networks, keys, figures, strict=True)
        ]

    def fitting(self, count: int, dice: np.random.Generator) -> list[Candidate]:
        """``count`` random ones that fit. Raises Verdict where too few do."""
        found: list[Candidate] = []
        for _ in range(MOST_DRAWS):
            found += self.candidates(drawn(max(count, 64), dice))[: count - len(found)]
            if len(found) >= count:
                return found
        raise Verdict(
            f"{self.space}: of {MOST_DRAWS * max(count, 64):,} random networks {len(found)} fit {self.rules.ram:,} B of"
            f" RAM and {self.rules.flash:,} B of flash; take a smaller width or resolution (`mcusim nas stats`)"
        )


def evolved(
    space: NasSpace,
    rules: NasRules,
    scorer: Scorer,
    settings: EvolutionSettings = PAPER,
    known: Scores | None = None,
) -> Iterator[list[Candidate]]:
    """The population of each generation, the best first; the first one is drawn. ``known`` has scores by genes, which
    are not asked for again; new ones are added to it. Raises Verdict where too few networks fit."""
    dice, judge = np.random.default_rng([rules.seed, 1]), NetworkJudge(space, rules, scorer, known)
    population = sorted(judge.fitting(settings.population, dice), key=lambda one: one.key)
    yield population
    for _ in range(settings.generations):
        parents = np.array([one.genes for one in population[: settings.parents]], np.int64)
        children = np.concatenate([_crossed(parents, settings.crossovers, dice), _mutated(parents, settings, dice)])
        alive = {one.genes for one in population}
        new = [one for one in judge.candidates(normalised(children)) if one.genes not in alive]
        alike = {one.genes: one for one in [*population, *new]}
        population = sorted(alike.values(), key=lambda one: one.key)[: settings.population]
        yield population


def random_search(space: NasSpace, rules: NasRules, scorer: Scorer, budget: int) -> Candidate:
    """The best of ``budget`` random networks that fit: what an evolution is compared with."""
    found = NetworkJudge(space, rules, scorer).fitting(budget, np.random.default_rng([rules.seed, 1]))
    return min(found, key=lambda one: one.key)


def _crossed(parents: Array, count: int, dice: np.random.Generator) -> Array:
    """Each gene from either of two parents."""
    first, second = (parents[dice.integers(len(parents), size=count)] for _ in range(2))
    return np.where(dice.random(first.shape) < 0.5, first, second)


def _mutated(parents: Array, settings: EvolutionSettings, dice: np.random.Generator) -> Array:
    """A share of the genes drawn anew."""
    chosen = parents[dice.integers(len(parents), size=settings.mutations)]
    fresh = dice.integers(_choices(chosen.shape[1]), size=chosen.shape)
    return np.where(dice.random(chosen.shape) < settings.rate, fresh, chosen)


def _choices(genes: int) -> Array:
    """How many values each gene has."""
    pairs = [len(KERNELS), len(EXPANSIONS)] * ((genes - 5) // 2)
    return np.array([len(DEPTHS)] * 5 + pairs, np.int64)
