"""A search of the best network for a board: evolution, its log, and what is written of the result.

The log has the scores of each generation; a search that was killed asks for none of them again and ends as an
undisturbed one. Not modelled: two searches that write one file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mcusim.errors import UsageError
from mcusim.files import read_guarded, utf8_text
from mcusim.nas_search.evolution import PAPER, Candidate, EvolutionSettings, Scorer, evolved
from mcusim.nas_search.figures import network_graph
from mcusim.nas_search.scorers import scorer_sha256
from mcusim.nas_search.space import NasSpace
from mcusim.nas_search.stats import NasRules
from mcusim.text import columns, wrapped

__all__ = ["NasSearch", "SearchResult", "network_file", "search_json", "search_text"]

LARGEST = 1 << 28  # bytes of a log
FORMAT = "mcusim-nas-search"


@dataclass(frozen=True)
class SearchResult:
    """``population`` is the last one, the best first; ``best`` the best score after each generation."""

    population: tuple[Candidate, ...]
    best: tuple[float, ...]
    scored: int


@dataclass(frozen=True)
class NasSearch:
    """What is searched and how; ``scorer`` is its text."""

    space: NasSpace
    rules: NasRules
    scorer: str
    settings: EvolutionSettings = PAPER

    @property
    def head(self) -> dict[str, Any]:
        """The first line of its log."""
        space = {"space": str(self.space), "classes": self.space.classes, "scorer": self.scorer}
        space["scorer_sha256"] = scorer_sha256(self.scorer)
        return {**self.rules.head, "format": FORMAT, **space, **self.settings.__dict__}

    def run(
        self, score: Scorer, log: Path | None = None, progress: Callable[[int, int], object] | None = None
    ) -> SearchResult:
        """Raises UsageError for a log of another search, Verdict where too few networks fit."""
        known = dict[tuple[int, ...], float]()
        file = None if log is None else _opened(log, self.head, known)
        best, population, written = list[float](), list[Candidate](), len(known)
        try:
            for population in evolved(self.space, self.rules, score, self.settings, known):
                best.append(population[0].score)
                if file is not None and len(known) > written:
                    new = [[*genes, value] for genes, value in [*known.items()][written:]]
                    _put(file, {"generation": len(best) - 1, "scores": new})
                    written = len(known)
                if progress is not None:
                    progress(len(best), self.settings.generations + 1)
        finally:
            if file is not None:
                file.close()
        return SearchResult(tuple(population), tuple(best), len(known))


def network_file(candidate: Candidate, ending: str) -> bytes:
    """The network as ``.json`` or as ``.tflite`` with random weights. Raises UsageError for another ending."""
    if ending == ".json":
        return (json.dumps(candidate.to_json(), indent=1) + "\n").encode()
    if ending == ".tflite":
        from mcusim.model.tflite.writer import write_tflite

        return write_tflite(network_graph(candidate.network, f"nas-{candidate.network.space}"))
    raise UsageError(f"a network is written as .json or .tflite, not as {ending[:20] or 'a file without an ending'}")


def search_text(search: NasSearch, found: SearchResult, listed: int = 5) -> str:
    """The best networks, at most 80 columns wide."""
    rules, rows = search.rules, [["", "score", "MMACs", "RAM, B", "flash, B", "blocks"]]
    for number, one in enumerate(found.population[:listed], 1):
        depths = "+".join(str(len(stage)) for stage in one.network.stages)
        rows.append(
            [str(number), f"{one.score:,.6g}", f"{one.macs / 1e6:.1f}", f"{one.ram:,}", f"{one.flash:,}", depths]
        )
    lines = wrapped(
        f"{search.space} on {rules.machine}, runtime {rules.runtime}, scorer {search.scorer[:40]}, seed {rules.seed}"
    )
    lines += wrapped(
        f"{found.scored:,} networks that fit were scored; the best of the first generation {found.best[0]:,.6g}, of the"
        f" last {found.best[-1]:,.6g}"
    )
    return "\n".join([*lines, "", *columns(rows, left=1)])


def search_json(search: NasSearch, found: SearchResult, listed: int = 20) -> dict[str, Any]:
    """The best networks, and the best score after each generation."""
    rules = search.rules
    return {
        "machine": rules.machine, "runtime": rules.runtime, "ram": rules.ram, "flash": rules.flash, "seed": rules.seed,
        "space": str(search.space), "scorer": search.scorer, "scored": found.scored, "best": list(found.best),
        "networks": [one.to_json() for one in found.population[:listed]],
    }  # fmt: skip


def _opened(path: Path, head: dict[str, Any], known: dict[tuple[int, ...], float]) -> IO[bytes]:
    """The log to go on with; its scores go into ``known``."""
    try:
        whole = _read(path, head, known) if path.exists() and path.stat().st_size else 0
        file = path.open("r+b" if path.exists() else "wb")
        file.truncate(whole)
        file.seek(whole)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None
    if not whole:
        _put(file, head)
    return file


def _read(path: Path, head: dict[str, Any], known: dict[tuple[int, ...], float]) -> int:
    data = read_guarded(path, LARGEST, UsageError, too_large=", the most a log may have")
    lines = data.split(b"\n")[:-1]  # the rest was cut short
    for number, line in enumerate(lines, 1):
        text = utf8_text(line, UsageError, path)
        try:
            found = json.loads(text)
            if number == 1:
                _same(path, found, head)
                continue
            for row in found["scores"]:
                known[tuple(int(gene) for gene in row[:-1])] = float(row[-1])
        except (ValueError, TypeError, KeyError, RecursionError):
            text = f"{path}:{number}: is no line of a log of `mcusim nas search`; name another file"
            raise UsageError(text) from None
    return sum(len(line) + 1 for line in lines)


def _same(path: Path, there: Any, head: dict[str, Any]) -> None:
    if not isinstance(there, dict) or there.get("format") != FORMAT:
        raise UsageError(f"{path}: is not a log of `mcusim nas search`; name another file")
    differing = next((key for key in head if there.get(key) != head[key]), None)
    if differing is not None:
        text = f"{differing}: {str(there.get(differing))[:80]}, now {head[differing]}"
        raise UsageError(f"{path} is the log of another search ({text}); name a new file")


def _put(file: IO[bytes], line: dict[str, Any]) -> None:
    file.write(json.dumps(line).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())
