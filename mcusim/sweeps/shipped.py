"""The studies that ship with mcusim, in ``mcusim/studies``."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

__all__ = ["study_folder", "study_names"]


def study_folder() -> Path:
    """Where they are."""
    return Path(str(files("mcusim.sweeps"))) / "studies"


def study_names() -> tuple[str, ...]:
    """Their names, sorted."""
    return tuple(sorted(path.stem for path in study_folder().glob("*.toml")))
