"""A machine's figures as plain data, and a hash of them: whether two results are of the same machine."""

from __future__ import annotations

import hashlib

from mcusim.machine.description import Machine
from mcusim.machine.schema import REPLACEMENTS
from mcusim.plug_ins import PlugIn, identified


def machine_sha256(machine: Machine) -> str:
    """Of the lines ``key = value`` of all figures, sorted, in UTF-8; keys that were set are as they were set."""
    lines = sorted(f"{key} = {figure.text}" for key, figure in machine.figures.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def machine_plug_ins(machine: Machine) -> tuple[PlugIn, ...]:
    """Replacement policies and peripherals of it that are from outside the package, as they are now. Raises
    UsageError."""
    caches = (machine.instruction_cache, machine.data_cache)
    policies = [cache.replacement for cache in caches if cache is not None and cache.size]
    named = [("replacement", name) for name in policies if name not in REPLACEMENTS]
    named += [("peripheral", block.kind) for block in machine.peripherals.values() if block.kind]
    return tuple(identified(kind, name) for kind, name in dict.fromkeys(named))


def figures_json(machine: Machine) -> dict[str, dict[str, str]]:
    """Of each key the ``value`` as written, its ``basis`` and ``source``."""
    return {
        key: {"value": figure.text, "basis": figure.basis, "source": figure.source}
        for key, figure in sorted(machine.figures.items())
    }
