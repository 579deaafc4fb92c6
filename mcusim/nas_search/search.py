"""A search of the best networks for a board: evolution, its log, and what is written of the result.

The log has what parts take, the scores of each generation and the whole replays; a search that was killed asks for none
of them again and ends as an undisturbed one. Not modelled: two searches that write one file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from mcusim.errors import UsageError, Verdict
from mcusim.nas_search.evolution import PAPER, Candidate, EvolutionSettings, NetworkJudge, Scorer, Scores, evolved
from mcusim.nas_search.figures import network_graph
from mcusim.nas_search.latency import WHOLE, PartCycles, ReplayBoard, ReplayedNetwork, replay_all
from mcusim.nas_search.scorers import scorer_sha256
from mcusim.nas_search.segments import PARTS
from mcusim.nas_search.selection import front_of, spread
from mcusim.nas_search.space import NasSpace
from mcusim.nas_search.stats import NasRules
from mcusim.record_log import LogKind, RecordLog
from mcusim.sweeps.input_hashes import description_sha256
from mcusim.sweeps.ordered_work import OrderedWork

__all__ = ["LISTED", "SEARCH_LOG", "FoundNetwork", "NasSearch", "SearchResult", "network_file"]

LISTED = 20  # networks of a result, at most
Progress = Callable[[int, int], object] | None


class SearchRecord(BaseModel):
    """A line of a log, one of: cycles of ``parts``, and of a ``joint``; ``scores`` by genes of a generation;
    ``replays`` of networks, in their order."""

    model_config = ConfigDict(extra="forbid", strict=True)

    parts: list[int] = []
    joint: int = 0
    generation: int | None = None
    scores: list[tuple[list[int], float]] = []
    replays: list[ReplayedNetwork] = []


SEARCH_LOG = LogKind("mcusim-nas-search", "mcusim nas search", "another search", "search", SearchRecord)
Log = RecordLog[SearchRecord]


@dataclass(frozen=True)
class FoundNetwork:
    """A network that was found; ``replayed`` is its whole replay, where time matters."""

    candidate: Candidate
    replayed: ReplayedNetwork | None = None

    def to_json(self) -> dict[str, Any]:
        """What a training script reads, with score, needs, latency and energy."""
        timed = {} if self.replayed is None else self.replayed.model_dump()
        return {**self.candidate.to_json(), **timed}


@dataclass(frozen=True)
class SearchResult:
    """``networks``, the best first by the first objective: of one objective the last population's, of several its
    front; ``best`` is the best first objective after each generation, the more the better."""

    networks: tuple[FoundNetwork, ...]
    best: tuple[float, ...]
    scored: int
    alive: int  # networks of which ``networks`` are some


@dataclass(frozen=True)
class NasSearch:
    """What is searched and how; ``scorer`` is its text, ``board`` what networks are replayed on."""

    space: NasSpace
    rules: NasRules
    scorer: str
    settings: EvolutionSettings = PAPER
    board: ReplayBoard | None = None

    @property
    def head(self) -> dict[str, Any]:
        """The first line of its log."""
        settings = {**self.settings.__dict__, "objectives": [*self.settings.objectives]}
        space = {"space": str(self.space), "classes": self.space.classes, "scorer": self.scorer, **settings}
        if self.board is not None:
            space["machine_sha256"] = description_sha256(self.board.machine)
        return {**self.rules.head, **space, "scorer_sha256": scorer_sha256(self.scorer)}

    def run(
        self, score: Scorer, log: Path | None = None, work: OrderedWork | None = None, progress: Progress = None
    ) -> SearchResult:
        """Raises UsageError for a log of another search, Verdict where too few networks fit."""
        with RecordLog(log, SEARCH_LOG, self.head) as written:
            work = OrderedWork(1, None, "the search") if work is None else work
            return _SearchRun(self, score, written, work, progress).result()


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
            best.append(max(one.values(settings.objectives)[0] for one in population))
        several = len(settings.objectives) > 1
        alive = front_of(population, settings.objectives) if several else population
        chosen = spread(alive, LISTED) if several else alive[:LISTED]
        networks = [FoundNetwork(one) for one in chosen]
        if search.board is not None:
            networks = self.replayed(chosen, search.board)
        return SearchResult(tuple(networks), tuple(best), len(known), len(alive))

    def step(self, *_: object) -> None:
        """One more part, generation or replay is done."""
        self.done += 1
        timed = 0 if self.search.board is None else PARTS + WHOLE + LISTED
        if self.progress is not None:
            self.progress(self.done, timed + self.search.settings.generations + 1)

    def part_cycles(self, board: ReplayBoard) -> PartCycles:
        """Of the space on the board."""
        for line in self.log.known:
            if line.parts:
                return PartCycles(np.array(line.parts, np.int64), line.joint)
        found = PartCycles.replayed(self.search.space, board, self.work, self.step)
        self.log.append(SearchRecord(parts=found.parts.tolist(), joint=found.joint))
        return found

    def generations(self, judge: NetworkJudge) -> Iterator[list[Candidate]]:
        """Populations; new scores are written down."""
        written = len(judge.known)
        for number, population in enumerate(evolved(judge)):
            new = [*judge.known.items()][written:]
            if new:
                scores = [([*genes], value) for genes, value in new]
                self.log.append(SearchRecord(generation=number, scores=scores))
                written += len(new)
            self.step()
            yield population

    def replayed(self, chosen: Sequence[Candidate], board: ReplayBoard) -> list[FoundNetwork]:
        """Those that are fast enough when they are replayed whole. Raises Verdict where none is."""
        found = next((line.replays for line in self.log.known if line.replays), None)
        if found is None:
            found = replay_all(board, [one.network for one in chosen], self.work, self.step)
            self.log.append(SearchRecord(replays=found))
        most = self.search.settings.most_cycles
        kept = [
            FoundNetwork(one, own)
            for one, own in zip(chosen, found, strict=True)
            if own.cycles is not None and (most is None or own.cycles <= most)
        ]
        if not kept:
            limit = "" if most is None else f" within {board.milliseconds(most):,.3g} ms"
            raise Verdict(f"{self.search.space}: none of the {len(chosen)} best networks runs on the board{limit}")
        return kept


def network_file(found: FoundNetwork, ending: str) -> bytes:
    """The network as ``.json`` or as ``.tflite`` with random weights. Raises UsageError for another ending."""
    if ending == ".json":
        return (json.dumps(found.to_json(), indent=1) + "\n").encode()
    if ending == ".tflite":
        from mcusim.model.tflite.writer import write_tflite

        network = found.candidate.network
        return write_tflite(network_graph(network, f"nas-{network.space}"))
    raise UsageError(f"a network is written as .json or .tflite, not as {ending[:20] or 'a file without an ending'}")
