"""Where the models of published measurements are: zoo networks are here, files are looked for."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from mcusim.errors import UsageError
from mcusim.measurements.published.runs import PublishedRun

VARIABLE = "MCUSIM_MODELS"
_LARGEST = 256 << 20  # the reader takes no larger file


@dataclass(frozen=True)
class FoundModel:
    """What :func:`mcusim.model.load_model` takes, with the ``sha256`` of what it reads; or the ``reason`` why not."""

    model: str = ""
    sha256: str = ""
    reason: str | None = None


def models_folder(given: str | Path | None) -> Path | None:
    """The folder with model files: ``given``, else what MCUSIM_MODELS names, else None.

    Raises UsageError when it is no folder.
    """
    named = os.environ.get(VARIABLE) if given is None else given
    if not named:
        return None
    origin = VARIABLE if given is None else "--models"
    try:
        inside = Path(named).is_dir()
    except (OSError, ValueError):  # too long, or no text for a path
        inside = False
    if not inside:
        raise UsageError(f"{origin} {str(named)[:200]}: there is no such folder; name the one with the .tflite files")
    return Path(named)


def find(run: PublishedRun, folder: Path | None) -> FoundModel:
    """The model of ``run``; a file must be the published one, identified by its sha256. Programs ship with the code."""
    if run.function or run.tasks:
        return FoundModel(run.model)
    if run.sha256 is None:
        from mcusim.model.zoo import parse_name
        from mcusim.model.zoo.builder import definition_sha256

        name = parse_name(run.model)
        assert name is not None, f"published_runs.toml: there is no network {run.model}"
        return FoundModel(run.model, definition_sha256(name, name.architecture))
    if folder is None:
        return FoundModel(reason=f"no model files: they do not ship; --models DIR or {VARIABLE} names their folder")
    path = folder / run.model
    try:
        if not path.is_file():
            return FoundModel(reason=f"the folder of models has no {run.model}")
        sha256 = _sha256(path) if path.stat().st_size <= _LARGEST else "too large for it"
    except OSError as error:
        return FoundModel(reason=f"{run.model} cannot be read: {error.strerror}")
    if sha256 != run.sha256:
        return FoundModel(reason=f"{run.model} is another file than the published one (sha256 {run.sha256[:16]}…)")
    return FoundModel(str(path), sha256)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
