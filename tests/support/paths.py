"""What several test files share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def shared_models() -> Path:
    """The folder with real ``.tflite`` files: ``MCUSIM_MODELS``, else ``../shared/models`` next to the repository."""
    folder = Path(os.environ.get("MCUSIM_MODELS") or REPOSITORY.parent / "shared" / "models")
    if not folder.is_dir():
        pytest.skip(f"no models at {folder}; set MCUSIM_MODELS to a folder with the .tflite files")
    return folder


def shared_model(name: str) -> Path:
    """One model file of :func:`shared_models`; the test is skipped when it is absent."""
    path = shared_models() / name
    if not path.is_file():
        pytest.skip(f"no model {path}; set MCUSIM_MODELS to a folder that has it")
    return path
