"""A machine's figures as plain data, and a hash of them: whether two results are of the same machine."""

from __future__ import annotations

import hashlib

from mcusim.machine.description import Machine


def machine_sha256(machine: Machine) -> str:
    """Of the lines ``key = value`` of all figures, sorted, in UTF-8; keys that were set are as they were set."""
    lines = sorted(f"{key} = {figure.text}" for key, figure in machine.figures.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def figures_json(machine: Machine) -> dict[str, dict[str, str]]:
    """Of each key the ``value`` as written, its ``basis`` and ``source``."""
    return {
        key: {"value": figure.text, "basis": figure.basis, "source": figure.source}
        for key, figure in sorted(machine.figures.items())
    }
