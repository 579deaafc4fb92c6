"""Hashes of the files of a study: a row depends on their contents, and every computer has to have the same."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache, lru_cache

from mcusim.errors import InputError
from mcusim.evidence.validate.cache import code_sha256
from mcusim.kernels.identity import kernels_sha256
from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.machine.identity import machine_plug_ins
from mcusim.measurements.published.stored import stored_rows
from mcusim.model.graph import Graph
from mcusim.run_config.kernel_choice import Kernels, resolve


@cache
def mcusim_sha256() -> str:
    """Of mcusim's code with the kernels that ship, and of the validated rows that intervals depend on."""
    return hashlib.sha256(f"{code_sha256()}{stored_rows()}".encode()).hexdigest()


def model_graph(path: str, allow_unknown: bool = False) -> Graph:
    """A model. Raises ModelError."""
    from mcusim.model import load_model

    return load_model(path, allow_unknown)


def described_sha256(path: str) -> str:
    """Of a machine as it is read, with what it extends. Raises MachineError."""
    return description_sha256(load_machine(path))


def description_sha256(machine: Machine) -> str:
    """Of a machine as it is, and of the files that it names."""
    files = [plug_in.sha256 for plug_in in machine_plug_ins(machine)]
    return hashlib.sha256((repr(replace(machine, path="")) + "".join(files)).encode()).hexdigest()


@lru_cache(maxsize=4)
def graph_of(path: str, sha256: str, allow_unknown: bool = False) -> Graph:
    """The model at ``path``. Raises ModelError, and InputError when it is another one."""
    from mcusim.model import load_model

    graph = load_model(path, allow_unknown)
    _require("model", path, graph.sha256, sha256)
    return graph


@lru_cache(maxsize=32)
def machine_of(path: str, sha256: str) -> Machine:
    """The machine at ``path``. Raises MachineError, and InputError when it is another one."""
    machine = load_machine(path)
    _require("machine", path, description_sha256(machine), sha256)
    return machine


@lru_cache(maxsize=32)
def kernels_of(path: str, sha256: str, fidelity: str) -> Kernels:
    """The kernels at ``path``. Raises what resolving them for ``fidelity`` raises, InputError when they are others."""
    _require("kernels", path, kernels_sha256(path), sha256)
    return resolve(path, fidelity)


def _require(what: str, path: str, text: str, wanted: str) -> None:
    if text != wanted:
        raise InputError(f"{what} {path[:200]}: not the same as where the sweep was started")
