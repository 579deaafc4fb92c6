"""Outcomes of validation runs in the user's cache directory, each kept for as long as nothing it depends on changed.

What an outcome depends on: the run itself, its model and its machine, mcusim's own code and kernels, and the versions
of the packages that compute it. Not modelled: the processor and compiler that numpy and numba were built for.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import metadata
from importlib.resources import files
from math import isfinite
from pathlib import Path

from mcusim.machine import load_machine
from mcusim.measurements.interval.situation import SHARE
from mcusim.measurements.published.runs import PublishedRun
from mcusim.measurements.published.stored import FIGURES, StoredOutcome

_SUFFIXES = (".py", ".elf", ".toml")
_SHOWN = ("_table.py", "_html.py", "_json.py", "_figure.py")  # how results are shown
# what no figure depends on, and what is hashed by itself; "_data" are the machines and traces of an installed package
_ELSEWHERE = ("_data", "commands", "cli.py", "published_runs.toml", "studies", "conclusions", "labs", "lab")
_PACKAGES = ("capstone", "llvmlite", "numba", "numpy", "simpy", "unicorn")
_LARGEST = 1 << 16  # bytes of a file here


def cache_folder() -> Path | None:
    """``mcusim/validation`` in ``XDG_CACHE_HOME``, by default in ``~/.cache``; a relative path there is ignored, as
    the XDG base directory specification says. None for a user without a home."""
    named = Path(os.environ.get("XDG_CACHE_HOME") or "")
    try:
        return (named if named.is_absolute() else Path.home() / ".cache") / "mcusim" / "validation"
    except RuntimeError:
        return None


class OutcomeCache:
    """One small file for each run, written again when what it depends on has changed.

    A folder that cannot be read or written counts as an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, run: PublishedRun, model_sha256: str) -> StoredOutcome | None:
        """What the run gave before; None when it did not, or depends on other things now."""
        path = self._path(run)
        try:
            if not path.is_file() or path.stat().st_size > _LARGEST:
                return None
            value = json.loads(path.read_text(encoding="utf-8"))
            figures, known = value["figures"], value["rests_on"] == _rests_on(run, model_sha256)
        except (OSError, ValueError, LookupError, TypeError, RecursionError):  # not ours, or cut short
            return None
        names = {name for name, _ in FIGURES.values()}
        sound = isinstance(figures, dict) and all(_is_figure(k, v, names) for k, v in figures.items())
        return StoredOutcome(figures) if known and sound and figures else None

    def put(self, run: PublishedRun, model_sha256: str, outcome: StoredOutcome) -> None:
        """Keep the figures that the run gave; why there are none is determined again each time."""
        if outcome.reason is not None:
            return
        rests_on = _rests_on(run, model_sha256)
        document = {"run": run.command, "rests_on": rests_on, "figures": dict(outcome.figures)}
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(document, file)
                Path(name).replace(self._path(run))
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise

    def _path(self, run: PublishedRun) -> Path:
        return self._folder / f"{hashlib.sha256(run.command.encode()).hexdigest()[:32]}.json"


def _is_figure(name: str, value: object, names: Collection[str]) -> bool:
    return (name in names or name.startswith(SHARE)) and _is_number(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _rests_on(run: PublishedRun, model_sha256: str) -> str:
    machine = repr(replace(load_machine(run.machine), path="")) if run.machine else ""
    text = json.dumps([run.command, model_sha256, machine, code_sha256(), package_versions()])
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def code_sha256() -> str:
    """Of mcusim's modules, kernels and profiles: of all that a result depends on."""
    digest, top = hashlib.sha256(), Path(str(files("mcusim")))
    for path in sorted(_sources(top)):
        digest.update(f"{path.relative_to(top)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources(top: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(top):
        inner[:] = [name for name in inner if name not in _ELSEWHERE]
        for name in names:
            if name.endswith(_SUFFIXES) and not name.endswith(_SHOWN) and name not in _ELSEWHERE:
                yield Path(folder, name)


@cache
def package_versions() -> list[str]:
    """Those of Python and of the packages that compute results."""
    return [sys.version, *(f"{name} {metadata.version(name)}" for name in _PACKAGES)]
