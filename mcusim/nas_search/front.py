"""Fronts of networks by score and latency, on several boards under several runtimes.

Each space is searched for each of them (:mod:`mcusim.nas_search.search`); of what was found on one, in whichever space,
those make its front that none is better than by both. Without spaces of the user's they are those that statistics say
are the best for all, half and a quarter of a board's memories. With a shared set the networks of all fronts are
replayed on every board that has room for them; a network on several fronts has the score of the last board's search.
Not modelled: networks between those of the spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isclose
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from mcusim.errors import NegativeResult, UsageError
from mcusim.nas_search.evolution import EvolutionSettings
from mcusim.nas_search.latency import ReplayBoard, ReplayedNetwork, replay_all
from mcusim.nas_search.network_figures import network_figures
from mcusim.nas_search.scorers import SECONDS, scorer_file, scorer_of
from mcusim.nas_search.search import POINTS, NasSearch, network_file
from mcusim.nas_search.selection import front_of
from mcusim.nas_search.space import Genes, NasNetwork, NasSpace, all_spaces
from mcusim.nas_search.stats import NasRules, best_spaces, nas_stats
from mcusim.record_log import LogKind, RecordLog
from mcusim.sweeps.input_hashes import description_sha256
from mcusim.sweeps.ordered_work import OrderedWork

BOTH = ("score", "latency")
SHARED = "shared"  # instead of a space: networks of other boards' fronts
SHARES = (1, 2, 4)  # of a board's memories: all, half, a quarter
DRAWN, SHARE = 200, 0.5  # networks of a space, and the least share of them that fits, to choose spaces by
Progress = Callable[[int, int], object] | None
Key = tuple[str, str, str]  # machine, runtime, space


class FrontNetwork(BaseModel):
    """A network of a front: its ``space``, ``genes``, score, what it needs, and its whole replay."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    space: str
    genes: Genes
    score: float
    macs: int = Field(ge=1)
    ram: int = Field(ge=1)
    flash: int = Field(ge=1)
    replayed: ReplayedNetwork

    @property
    def identity(self) -> tuple[str, Genes]:
        """Which network it is."""
        return self.space, self.genes

    @property
    def latency_ms(self) -> float:
        """Of the replay."""
        assert self.replayed.latency_ms is not None  # what does not run is in no front
        return self.replayed.latency_ms

    def values(self, objectives: Sequence[str]) -> tuple[float, ...]:
        """Of :data:`BOTH`, each the more the better."""
        own = {"score": self.score, "latency": -self.latency_ms}
        return tuple(own[name] for name in objectives)

    def to_json(self, network: NasNetwork) -> dict[str, Any]:
        """What a training script reads, with score, needs, latency and energy."""
        own = {"space": self.space, "score": self.score, "macs": self.macs, "ram": self.ram, "flash": self.flash}
        return {**network.to_json(), **own, **self.replayed.model_dump()}


class SpaceFront(BaseModel):
    """What a search of a space on a board found: ``networks`` of its front, which has ``alive``; ``reason`` says why
    nothing. Of the space :data:`SHARED`: networks of other boards that run on this one."""

    model_config = ConfigDict(extra="forbid", strict=True)

    machine: str
    runtime: str
    space: str
    networks: list[FrontNetwork] = []
    scored: int = 0
    alive: int = 0
    reason: str = ""

    @property
    def key(self) -> Key:
        """Which search it was."""
        return self.machine, self.runtime, self.space


FRONT_LOG = LogKind("mcusim-nas-front", "mcusim nas front", "other fronts", "space", SpaceFront)
FrontLog = RecordLog[SpaceFront]


@dataclass(frozen=True)
class FrontBoard:
    """A board under a runtime, and the ``spaces`` that are searched for it."""

    board: ReplayBoard
    rules: NasRules
    spaces: tuple[NasSpace, ...]

    @property
    def name(self) -> str:
        """As tables and legends have it."""
        return f"{self.rules.machine}, {self.rules.runtime}"

    @property
    def keys(self) -> list[Key]:
        """Of its searches."""
        return [(self.rules.machine, self.rules.runtime, str(space)) for space in self.spaces]

    def network(self, network: FrontNetwork) -> NasNetwork:
        """The network itself."""
        (space,) = (space for space in self.spaces if str(space) == network.space)
        return NasNetwork.of(space, np.array(network.genes, np.int64))


@dataclass(frozen=True)
class BoardFront:
    """The front of a board: ``networks``, the best score first; the fronts of its spaces have ``alive``, of which
    ``replayed`` were; ``reasons`` of spaces that have none. ``shared``: all networks of all boards' fronts that run on
    this one, of which it is then the front."""

    on: FrontBoard
    networks: tuple[FrontNetwork, ...]
    scored: int
    alive: int
    replayed: int
    reasons: tuple[str, ...]
    shared: tuple[FrontNetwork, ...] = ()

    def fastest(self, score: float) -> FrontNetwork | None:
        """The fastest network that has at least this score."""
        able = [network for network in self.networks if network.score >= score]
        return min(able, key=lambda network: network.latency_ms) if able else None


@dataclass(frozen=True)
class FrontPlan:
    """What is searched: ``boards`` with their spaces, by ``scorer`` (its text) and ``settings``; whether all networks
    are ``shared`` by all boards. Raises UsageError for a board that is there twice, NegativeResult where no board has a
    space."""

    boards: tuple[FrontBoard, ...]
    scorer: str
    settings: EvolutionSettings
    scorer_seconds: float = SECONDS
    points: int = POINTS
    shared: bool = False

    def __post_init__(self) -> None:
        names = [on.name for on in self.boards]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"{twice} is there twice")
        if not any(on.spaces for on in self.boards):
            raise NegativeResult(f"{'; '.join(names)}: no search space has enough networks that fit")

    @property
    def searches(self) -> list[NasSearch]:
        """One for each space of each board."""
        settings = replace(self.settings, objectives=BOTH)
        return [
            NasSearch(space, on.rules, self.scorer, settings, on.board, self.points)
            for on in self.boards
            for space in on.spaces
        ]

    @property
    def head(self) -> dict[str, Any]:
        """The first line of its log."""
        first = self.searches[0].head
        keys = ("version", "seed", "in_place", "scorer", "scorer_sha256", "classes", "points")
        own = {key: first[key] for key in keys}
        settings = {key: first[key] for key in self.settings.__dict__}
        return {**own, **settings, "shared": self.shared, "boards": [_described(on) for on in self.boards]}

    @property
    def spaces(self) -> dict[str, NasSpace]:
        """Of all boards, by their names."""
        return {str(space): space for on in self.boards for space in on.spaces}


def _described(on: FrontBoard) -> dict[str, Any]:
    rules = on.rules
    return {
        "machine": rules.machine, "machine_sha256": description_sha256(on.board.machine), "runtime": rules.runtime,
        "ram": rules.ram, "flash": rules.flash, "spaces": [str(space) for space in on.spaces],
    }  # fmt: skip


def best_for(rules: NasRules, classes: int, work: OrderedWork) -> tuple[NasSpace, ...]:
    """The best spaces for all, half and a quarter of the memories of ``rules``; none where too few networks fit."""
    spaces = all_spaces(classes=classes)
    names: dict[str, NasSpace] = {str(space): space for space in spaces}
    nas_spaces: dict[str, NasSpace] = {}
    for part in SHARES:
        own = replace(rules, ram=rules.ram // part, flash=rules.flash // part, networks=DRAWN)
        best = best_spaces(nas_stats(spaces, own, work=work), SHARE)[0]
        if best.share >= SHARE:
            nas_spaces[best.space] = names[best.space]
    return tuple(nas_spaces.values())


def nas_fronts(
    plan: FrontPlan, log: Path | None = None, work: OrderedWork | None = None, progress: Progress = None
) -> list[BoardFront]:
    """The front of each board; spaces that the log has are not searched again. Raises UsageError for the log of other
    fronts, and what a scorer raises."""
    work = OrderedWork(1, None, "the search") if work is None else work
    searches = plan.searches
    with RecordLog(log, FRONT_LOG, plan.head) as written:
        _require_own(plan, written.known, log)
        known = {record.key: record for record in written.known}
        missing = [search for search in searches if _key(search) not in known]
        before = len(searches) - len(missing)
        jobs = [(search, plan.scorer_seconds) for search in missing]
        users = (scorer_file(plan.scorer) or Path()).suffix.lower() == ".py"  # code that may end its process
        for done, front in enumerate(work.map(_searched, jobs, few=2, apart=users), before + 1):
            known[front.key] = front
            written.append(front)
            if progress is not None:
                progress(done, len(searches))
        fronts = [_front(on, [known[key] for key in on.keys]) for on in plan.boards]
        return _of_shared_networks(plan, fronts, known, written, work) if plan.shared else fronts


def _of_shared_networks(
    plan: FrontPlan, fronts: list[BoardFront], known: dict[Key, SpaceFront], log: FrontLog, work: OrderedWork
) -> list[BoardFront]:
    """``fronts`` of the networks of all of them."""
    every = {network.identity: network for front in fronts for network in front.networks}
    board_fronts = list[BoardFront]()
    for front in fronts:
        rules, own = front.on.rules, {network.identity for network in front.networks}
        record = known.get((rules.machine, rules.runtime, SHARED))
        if record is None:
            others = [network for identity, network in every.items() if identity not in own]
            networks = _replayed_elsewhere(plan, front.on, others, work)
            record = SpaceFront(machine=rules.machine, runtime=rules.runtime, space=SHARED, networks=networks)
            log.append(record)
        running = {network.identity: network for network in (*front.networks, *record.networks)}
        shared = tuple(running[identity] for identity in every if identity in running)
        on = replace(front.on, spaces=tuple(plan.spaces.values()))
        board_fronts.append(replace(front, on=on, networks=tuple(front_of(shared, BOTH)), shared=shared))
    return board_fronts


def _replayed_elsewhere(
    plan: FrontPlan, on: FrontBoard, networks: Sequence[FrontNetwork], work: OrderedWork
) -> list[FrontNetwork]:
    """Those of ``networks`` that fit board ``on`` and run there, with what they need and take there."""
    rules, fitting = on.rules, list[FrontNetwork]()
    for network in networks:
        genes = np.array([network.genes], np.int64)
        needs = network_figures(plan.spaces[network.space], genes, rules.runtime, rules.isa, rules.in_place)
        if needs.fitting(rules.ram, rules.flash)[0]:
            fitting.append(network.model_copy(update={"ram": int(needs.ram[0]), "flash": int(needs.flash[0])}))
    whole = [
        NasNetwork.of(plan.spaces[front_network.space], np.array(front_network.genes, np.int64))
        for front_network in fitting
    ]
    replays = replay_all(on.board, whole, work)
    timed = [
        front_network.model_copy(update={"replayed": own}) for front_network, own in zip(fitting, replays, strict=True)
    ]
    return [front_network for front_network in timed if front_network.replayed.latency_ms is not None]


def _require_own(plan: FrontPlan, records: Sequence[SpaceFront], log: Path | None) -> None:
    """Raise UsageError for records that no search of ``plan`` can have written: other searches, networks of another
    space, figures that are not those of the genes, times that are not those of the cycles."""
    boards = {key: on for on in plan.boards for key in on.keys}
    if plan.shared:
        boards |= {(on.rules.machine, on.rules.runtime, SHARED): on for on in plan.boards}
    for record in records:
        on, where = boards.get(record.key), f"{log}: {', '.join(record.key)[:120]}"
        if on is None:
            raise UsageError(f"{where}: no such search belongs to these fronts; name a new file")
        named = plan.spaces.keys() if record.space == SHARED else {record.space}
        strange = {network.space for network in record.networks} - {*named}
        if strange or not all(_are_of_their_genes(plan, on, space, record.networks) for space in named):
            raise UsageError(f"{where}: a network's figures are not those of its genes: edited? name a new file")


def _are_of_their_genes(plan: FrontPlan, on: FrontBoard, space: str, networks: Sequence[FrontNetwork]) -> bool:
    """Whether the figures of those of ``networks`` that are of ``space`` are what its planner says."""
    rules, own = on.rules, [network for network in networks if network.space == space]
    if not own:
        return True
    genes = np.array([network.genes for network in own], np.int64)
    figures = network_figures(plan.spaces[space], genes, rules.runtime, rules.isa, rules.in_place)
    planned = zip(figures.macs.tolist(), figures.ram.tolist(), figures.flash.tolist(), strict=True)
    took = [on.board.milliseconds(network.replayed.cycles or 0) for network in own]
    right = [(network.macs, network.ram, network.flash) for network in own] == list(planned)
    pairs = zip(took, own, strict=True)
    return right and all(isclose(ms, network.replayed.latency_ms or 0, rel_tol=1e-9) for ms, network in pairs)


def _key(search: NasSearch) -> tuple[str, str, str]:
    return search.rules.machine, search.rules.runtime, str(search.space)


def _searched(job: tuple[NasSearch, float]) -> SpaceFront:
    """A search of a space in this process."""
    search, seconds = job
    machine, runtime, space = _key(search)
    result = search.run(scorer_of(search.scorer, seconds=seconds))
    networks = [
        FrontNetwork(
            space=space, genes=network.candidate.genes, score=network.candidate.score, macs=network.candidate.macs,
            ram=network.candidate.ram, flash=network.candidate.flash, replayed=network.replayed,
        )
        for network in result.networks
        if network.replayed is not None
    ]  # fmt: skip
    return SpaceFront(
        machine=machine, runtime=runtime, space=space, networks=networks, scored=result.scored, alive=result.alive,
        reason=result.reason,
    )  # fmt: skip


def _front(on: FrontBoard, fronts: Sequence[SpaceFront]) -> BoardFront:
    ran = [network for front in fronts for network in front.networks if network.replayed.latency_ms is not None]
    networks = front_of(ran, BOTH)
    reasons = tuple(front.reason for front in fronts if front.reason)
    if not fronts:
        reasons = (f"{on.name}: no search space has enough networks that fit",)
    scored, alive = (sum(getattr(front, name) for front in fronts) for name in ("scored", "alive"))
    return BoardFront(on, tuple(networks), scored, alive, len(ran), reasons)


def front_files(fronts: Sequence[BoardFront]) -> dict[str, bytes]:
    """Each network as ``.json`` and ``.tflite`` by its place: a folder for each board and runtime, the best score
    first."""
    files = dict[str, bytes]()
    for front in fronts:
        for number, front_network in enumerate(front.networks, 1):
            network = front.on.network(front_network)
            board = re.sub(r"[^\w.-]+", "-", f"{front.on.rules.machine}-{front.on.rules.runtime}")
            location = f"{board}/{number:02}-{front_network.space}"
            files |= {
                location + end: network_file(network, front_network.to_json(network), end)
                for end in (".json", ".tflite")
            }
    return files
