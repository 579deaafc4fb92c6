"""A hash of kernels that are given by path."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from mcusim.kernels import load_profile, profile_names
from mcusim.kernels.kernel_set import set_names


def kernels_sha256(path: str) -> str:
    """Of kernels given by path; empty for those that ship."""
    if path in (*profile_names(), *set_names()):
        return ""
    digest = hashlib.sha256()
    if path.endswith(".toml") and Path(path).name != "manifest.toml":
        digest.update(repr(load_profile(path)).encode())  # as this process has read it
    for file in _files(Path(path)):
        digest.update(f"{file.name}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    """A profile, or what is in the folder of a kernel set."""
    folder = path.parent if path.name == "manifest.toml" else path
    if folder.is_dir():
        yield from sorted(file for file in folder.iterdir() if file.suffix in (".toml", ".elf") and file.is_file())
    elif path.is_file():
        yield path
