"""A search of the best networks for a board: evolution, its log, and what is written of the result.

The log has what parts take, the scores of each generation and the whole replays; a search that was killed asks for none
of them again and ends as an undisturbed one. Not modelled: two searches that write one file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator

from mcusim.errors import NegativeResult, UsageError
from mcusim.nas_search.evolution import PAPER, Candidate, EvolutionSettings, NetworkJudge, Scorer, Scores, evolved
from mcusim.nas_search.latency import NEVER, WHOLE, PartCycles, ReplayBoard, ReplayedNetwork, replay_all
from mcusim.nas_search.network_figures import network_graph
from mcusim.nas_search.scorers import scorer_sha256
from mcusim.nas_search.segments import PARTS
from mcusim.nas_search.selection import front_of, spread
from mcusim.nas_search.space import Genes, NasNetwork, NasSpace
from mcusim.nas_search.stats import NasRules
from mcusim.record_log import LogKind, RecordLog
from mcusim.sweeps.input_hashes import description_sha256
from mcusim.sweeps.ordered_work import OrderedWork

POINTS = 20  # networks of a result, at most
Progress = Callable[[int, int], object] | None


class SearchRecord(BaseModel):
    """A line of a log, one of: cycles of ``parts``, and of a ``joint``, and the interval's ``high`` end; ``scores`` by
    genes of a generation; ``replays`` of networks, in their order."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    parts: list[Annotated[int, Field(ge=1, le=NEVER)]] = Field(default=[], max_length=PARTS)
    joint: int = Field(default=0, gt=-NEVER, lt=NEVER)
    high: float = Field(default=1.0, ge=1.0, le=1e6)
    generation: int | None = None
    scores: list[tuple[Genes, float]] = []
    replays: list[ReplayedNetwork] = []

    @field_validator("parts")
    @classmethod
    def _all_parts(cls, parts: list[int]) -> list[int]:
        if parts and len(parts) != PARTS:
            raise ValueError(f"must have {PARTS} parts")
        return parts


SEARCH_LOG = LogKind("mcusim-nas-search", "mcusim nas search", "another search", "search", SearchRecord)
Log = RecordLog[SearchRecord]


@dataclass(frozen=True)
class FoundNetwork:
    """A network that was found; ``replayed`` is its whole replay, where time matters."""

    candidate: Candidate
    replayed: ReplayedNetwork | None = None

    @property
    def genes(self) -> tuple[int, ...]:
        """Of the candidate."""
        return self.candidate.genes

    def values(self, objectives: Sequence[str]) -> tuple[float, ...]:
        """Of the objectives, each the more the better; latency is that of the replay."""
        cycles = self.candidate.cycles if self.replayed is None else self.replayed.cycles
        return replace(self.candidate, cycles=cycles).values(objectives)

    def file(self, ending: str) -> bytes:
        """As :func:`network_file`."""
        return network_file(self.candidate.network, self.to_json(), ending)

    def to_json(self) -> dict[str, Any]:
        """What a training script reads, with score, needs, latency and energy."""
        timed = {} if self.replayed is None else self.replayed.model_dump()
        return {**self.candidate.to_json(), **timed}


@dataclass(frozen=True)
class SearchResult:
    """``networks``, the best first by the first objective: of one objective the last population's, of several its
    front, some of ``alive``; ``best`` is the best first objective after each generation, the more the better;
    ``too_slow`` networks were so when they were replayed whole. ``reason`` says why there is none."""

    networks: tuple[FoundNetwork, ...] = ()
    best: tuple[float, ...] = ()
    scored: int = 0
    alive: int = 0
    too_slow: int = 0
    reason: str = ""


@dataclass(frozen=True)
class NasSearch:
    """What is searched and how; ``scorer`` is its text, ``board`` what networks are replayed on, ``points`` the most
    networks of a result."""

    space: NasSpace
    rules: NasRules
    scorer: str
    settings: EvolutionSettings = PAPER
    board: ReplayBoard | None = None
    points: int = POINTS

    @property
    def head(self) -> dict[str, Any]:
        """The first line of its log."""
        settings = {**self.settings.__dict__, "objectives": [*self.settings.objectives]}
        space = {"space": str(self.space), "classes": self.space.classes, "scorer": self.scorer, **settings}
        space["points"] = self.points
        if self.board is not None:
            space["machine_sha256"] = description_sha256(self.board.machine)
        return {**self.rules.head, **space, "scorer_sha256": scorer_sha256(self.scorer)}

    def run(
        self, score: Scorer, log: Path | None = None, work: OrderedWork | None = None, progress: Progress = None
    ) -> SearchResult:
        """Raises UsageError for a log of another search; that too few networks fit is a result."""
        with RecordLog(log, SEARCH_LOG, self.head) as written:
            work = OrderedWork(1, None, "the search") if work is None else work
            run = _SearchRun(self, score, written, work, progress)
            try:
                return run.result()
            except NegativeResult as reason:
                return SearchResult(reason=str(reason))


@dataclass
class _SearchRun:
    """A search with its log, and where its work is made."""

    search: NasSearch
    score: Scorer
    log: Log
    work: OrderedWork
    progress: Progress
    done: int = 0

    def result(self) -> SearchResult:
        search, settings = self.search, self.search.settings
        cycles = None if search.board is None else self.part_cycles(search.board)
        known: Scores = {tuple(genes): value for line in self.log.known for genes, value in line.scores}
        judge = NetworkJudge(search.space, search.rules, self.score, settings, known, cycles)
        best, population = list[float](), list[Candidate]()
        for population in self.generations(judge):
            best.append(max(candidate.values(settings.objectives)[0] for candidate in population))
        several = len(settings.objectives) > 1
        alive = front_of(population, settings.objectives) if several else population
        networks, slow = [FoundNetwork(candidate) for candidate in alive[: search.points]], 0
        if search.board is not None:
            first = spread(alive, search.points) if several else alive
            networks, slow = self.replayed(
                [*first, *(candidate for candidate in alive if candidate not in first)], search.board
            )
        if several:
            networks = front_of(networks, settings.objectives)
        return SearchResult(tuple(networks), tuple(best), len(known), len(alive), slow)

    def step(self, *_: object) -> None:
        """One more part, generation or replay is done."""
        self.done += 1
        timed = 0 if self.search.board is None else PARTS + WHOLE + self.search.points
        if self.progress is not None:
            self.progress(self.done, timed + self.search.settings.generations + 1)

    def part_cycles(self, board: ReplayBoard) -> PartCycles:
        """Of the space on the board."""
        for line in self.log.known:
            if line.parts:
                return PartCycles(np.array(line.parts, np.int64), line.joint, board.machine.core.clock, line.high)
        cycles = PartCycles.replayed(self.search.space, board, self.work, self.step)
        self.log.append(SearchRecord(parts=cycles.parts.tolist(), joint=cycles.joint, high=cycles.high))
        return cycles

    def generations(self, judge: NetworkJudge) -> Iterator[list[Candidate]]:
        """Populations; new scores are written down."""
        written = len(judge.known)
        for number, population in enumerate(evolved(judge)):
            new = [*judge.known.items()][written:]
            if new:
                scores = [*new]
                self.log.append(SearchRecord(generation=number, scores=scores))
                written += len(new)
            self.step()
            yield population

    def replayed(self, candidates: Sequence[Candidate], board: ReplayBoard) -> tuple[list[FoundNetwork], int]:
        """Those that are fast enough when they are replayed whole, as many as are wanted, and how many were not. Raises
        NegativeResult where none is."""
        known = [own for line in self.log.known for own in line.replays]
        kept, done, settings = list[FoundNetwork](), 0, self.search.settings
        most = inf if settings.most_cycles is None else board.milliseconds(settings.most_cycles)
        while done < len(candidates) and len(kept) < self.search.points:
            batch = candidates[done : done + self.search.points - len(kept)]
            networks = known[done : done + len(batch)]
            if len(networks) < len(batch):
                new = replay_all(
                    board, [candidate.network for candidate in batch[len(networks) :]], self.work, self.step
                )
                self.log.append(SearchRecord(replays=new))
                networks += new
            kept += [
                FoundNetwork(candidate, own)
                for candidate, own in zip(batch, networks, strict=True)
                if own.within(most, settings.certain)
            ]
            done += len(batch)
        if not kept:
            limit = "" if most == inf else f" within {most:,.4g} ms"
            limit += " at the interval's upper end" * settings.certain
            raise NegativeResult(f"{self.search.space}: none of the {done} best networks runs on the board{limit}")
        return kept, done - len(kept)


def network_file(network: NasNetwork, described: Mapping[str, Any], ending: str) -> bytes:
    """A network as ``.json``, as it is ``described``, or as ``.tflite`` with random weights. Raises UsageError for
    another ending."""
    if ending == ".json":
        return (json.dumps(described, indent=1) + "\n").encode()
    if ending == ".tflite":
        from mcusim.model.tflite.tflite_writer import write_tflite

        return write_tflite(network_graph(network, f"nas-{network.space}"))
    raise UsageError(f"a network is written as .json or .tflite, not as {ending[:20] or 'a file without an ending'}")
