"""The model that a program was written for, to run it on real data."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mcusim.engine.program_checks import check_model
from mcusim.errors import InputError
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.model.zoo import build, parse_name
from mcusim.program import Program, program_graph

LARGEST_FILE = 256 << 20  # the reader takes no larger one
LONGEST_NAME = 200


def model_of(program: Program, trace: Path, given: str | None) -> Graph | None:
    """The graph that ``program``, read from the file ``trace``, was written for, its operators in the program's order;
    None when it is not here.

    ``given``, a path or a zoo name, when there is one: raises ProgramError when the program was written for another
    model, ModelError when it cannot be read. Else what the header names, if its sha256 is the header's: a file of that
    name, with or without ``.tflite``, in the program's folder, or a zoo network. That never raises, and never reads a
    file of another folder: a program must not cause a file to be opened.

    Not modelled: models under other names than the header's.
    """
    if given is not None:
        graph = load_model(given)
        graph = program_graph(program, graph)
        check_model(program, graph)
        return graph
    name, sha256 = program.header.model, program.header.model_sha256
    if len(name) > LONGEST_NAME:
        return None
    try:
        path = _beside(trace, name, sha256)
        result = _built(name, sha256) if path is None else load_model(path)
        return None if result is None else program_graph(program, result)
    except InputError:
        return None


def _beside(trace: Path, name: str, sha256: str) -> Path | None:
    """The file of that name in the trace's own folder that has that sha256."""
    if any(c in name for c in "/\\:\0"):
        return None
    folder = trace.parent
    for path in (folder / name, folder / f"{name}.tflite"):
        try:
            inside = path.is_file() and path.resolve().parent == folder.resolve()  # a link may lead elsewhere
            if inside and path.stat().st_size <= LARGEST_FILE and _sha256(path) == sha256:
                return path
        except (OSError, ValueError, RuntimeError):  # no right to look; no text for a file name; links in a circle
            continue
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _built(name: str, sha256: str) -> Graph | None:
    """The zoo network of that name when it has that sha256, which is known before it is built."""
    from mcusim.model.zoo.builder import definition_sha256

    zoo_name = parse_name(name)
    if zoo_name is None or definition_sha256(zoo_name, zoo_name.architecture) != sha256:
        return None
    return build(zoo_name)
