"""Builds the wheel with the commit that it is built from, which results name."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface[Any]):
    """Writes ``mcusim/_commit.txt`` into a wheel that is built in a checkout; elsewhere nothing."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """``version`` is ``editable`` for an installation that follows the checkout, which is no commit."""
        commit = None if version == "editable" else _commit(self.root)
        if commit is not None:
            file = Path(self.directory) / "commit.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{commit}\n", encoding="ascii")
            build_data["force_include"][str(file)] = "mcusim/_commit.txt"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing but the wheel."""
        (Path(self.directory) / "commit.txt").unlink(missing_ok=True)


def _commit(root: str) -> str | None:
    """Of the checkout whose top is ``root``, with ``+changes`` where files that are kept differ; None for none."""
    if not (Path(root) / ".git").exists():
        return None
    try:
        commit, changes = (
            subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True, timeout=60).stdout
            for words in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return commit.strip() + ("+changes" if changes.strip() else "")
