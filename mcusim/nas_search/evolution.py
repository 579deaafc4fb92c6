"""Evolution of networks in a space, under a board's memories: TinyNAS's second step.

Settings are the paper's (Lin et al. 2020): a population of 100, of which the best 20 are parents, 50 crossovers and 50
mutations of a tenth of the genes in each of 30 generations; only networks that fit live. A budget of random draws is
spent alike. Not modelled: training; the score is what a scorer says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

import numpy as np

from mcusim.errors import NegativeResult
from mcusim.nas_search.latency import NEVER, PartCycles
from mcusim.nas_search.network_figures import network_figures
from mcusim.nas_search.selection import OBJECTIVES, selected
from mcusim.nas_search.space import DEPTHS, EXPANSIONS, KERNELS, NasNetwork, NasSpace, drawn, normalised
from mcusim.nas_search.stats import NasRules

Array = np.ndarray[Any, np.dtype[np.int64]]
Scorer = Callable[[Sequence[Mapping[str, Any]]], Sequence[float]]
Scores = dict[tuple[int, ...], float]
MOST_DRAWS = 200  # batches of random networks until enough fit


@dataclass(frozen=True)
class EvolutionSettings:
    """Numbers of networks: ``population``, ``parents``, ``crossovers`` and ``mutations`` of each of ``generations``,
    and the share of genes that a mutation changes. ``objectives`` are what lives by; networks slower than
    ``most_cycles`` do not, by the upper end of where measurements are expected if it is to be ``certain``."""

    population: int = 100
    parents: int = 20
    crossovers: int = 50
    mutations: int = 50
    rate: float = 0.1
    generations: int = 30
    objectives: tuple[str, ...] = ("score",)
    most_cycles: int | None = None
    certain: bool = False

    @property
    def budget(self) -> int:
        """Networks that are scored in all."""
        return self.population + self.generations * (self.crossovers + self.mutations)

    @property
    def timed(self) -> bool:
        """Whether the time of networks matters."""
        return self.most_cycles is not None or "latency" in self.objectives


PAPER = EvolutionSettings()


@dataclass(frozen=True)
class Candidate:
    """A network that fits, with its ``score`` and what it computes and needs; ``genes`` as drawn; ``cycles`` are the
    sum of its parts' (None where time does not matter)."""

    network: NasNetwork
    genes: tuple[int, ...]
    score: float
    macs: int
    ram: int
    flash: int
    cycles: int | None = None

    @property
    def described(self) -> dict[str, Any]:
        """What a scorer sees, and a training script."""
        return {**self.network.to_json(), "macs": self.macs, "ram": self.ram, "flash": self.flash}

    def to_json(self) -> dict[str, Any]:
        """With its score."""
        return {**self.network.to_json(), "score": self.score, "macs": self.macs, "ram": self.ram, "flash": self.flash}

    def values(self, objectives: Sequence[str]) -> tuple[float, ...]:
        """Of the objectives, each the more the better."""
        figures = {**self.__dict__, "latency": self.cycles}
        return tuple(OBJECTIVES[name] * float(figures[name]) for name in objectives)


@dataclass(frozen=True)
class NetworkJudge:
    """Scores the networks of a space that fit, each once; ``known`` has scores by genes, ``cycles`` what parts take,
    where time matters."""

    space: NasSpace
    rules: NasRules
    scorer: Scorer
    settings: EvolutionSettings
    known: Scores
    cycles: PartCycles | None = None

    def candidates(self, genes: Array) -> list[Candidate]:
        """Of those rows that fit."""
        if not len(genes):
            return []
        fitting = self._fitting(genes)
        new = {candidate.genes: candidate.described for candidate in fitting if candidate.genes not in self.known}
        scores = self.scorer([*new.values()]) if new else ()
        self.known.update(zip(new, scores, strict=True))
        return [replace(candidate, score=self.known[candidate.genes]) for candidate in fitting]

    def _fitting(self, genes: Array) -> list[Candidate]:
        """Without their scores."""
        rules, most = self.rules, self.settings.most_cycles
        result = network_figures(self.space, genes, rules.runtime, rules.isa, rules.in_place)
        fit, cycles = result.fitting(rules.ram, rules.flash), None
        if self.cycles is not None:
            cycles = self.cycles.cycles(genes)
            factor = self.cycles.high if self.settings.certain else 1.0
            fit &= cycles < NEVER if most is None else cycles * factor < most + 1
        return [
            Candidate(
                NasNetwork.of(self.space, genes[i]), tuple(genes[i].tolist()), nan,
                int(result.macs[i]), int(result.ram[i]), int(result.flash[i]),
                None if cycles is None else int(cycles[i]),
            )
            for i in np.flatnonzero(fit)
        ]  # fmt: skip

    def fitting(self, count: int, dice: np.random.Generator) -> list[Candidate]:
        """``count`` random ones that fit. Raises NegativeResult where too few do."""
        candidates: list[Candidate] = []
        for _ in range(MOST_DRAWS):
            candidates += self.candidates(drawn(max(count, 64), dice))[: count - len(candidates)]
            if len(candidates) >= count:
                return candidates
        fast = "" if self.cycles is None else self.cycles.within(self.settings.most_cycles)
        fast += " at the interval's upper end" * self.settings.certain
        raise NegativeResult(
            f"{self.space}: of {MOST_DRAWS * max(count, 64):,} random networks {len(candidates)} fit"
            f" {self.rules.ram:,} B of"
            f" RAM and {self.rules.flash:,} B of flash{fast}; take a smaller width or resolution, or a larger board"
        )


def evolved(judge: NetworkJudge) -> Iterator[list[Candidate]]:
    """The population of each generation, the best first; the first one is drawn. Raises NegativeResult where too few
    networks
    fit, UsageError without the package for several objectives."""
    settings, dice = judge.settings, np.random.default_rng([judge.rules.seed, 1])
    population = selected(judge.fitting(settings.population, dice), settings.population, settings.objectives)
    yield population
    for _ in range(settings.generations):
        parents = selected(population, settings.parents, settings.objectives)
        genes = np.array([parent.genes for parent in parents], np.int64)
        children = np.concatenate([_crossed(genes, settings.crossovers, dice), _mutated(genes, settings, dice)])
        alive = {candidate.genes for candidate in population}
        new = [candidate for candidate in judge.candidates(normalised(children)) if candidate.genes not in alive]
        alike = {candidate.genes: candidate for candidate in [*population, *new]}
        population = selected([*alike.values()], settings.population, settings.objectives)
        yield population


def random_search(judge: NetworkJudge, budget: int) -> list[Candidate]:
    """``budget`` random networks that fit: what an evolution is compared with."""
    return judge.fitting(budget, np.random.default_rng([judge.rules.seed, 1]))


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
