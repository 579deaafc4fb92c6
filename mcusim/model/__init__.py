"""Models as graphs: the ``.tflite`` reader and writer, the zoo, loop nests of operators, inspection.

numpy and tflite are imported when a model is loaded, not before.
"""

from __future__ import annotations

from pathlib import Path

from mcusim.errors import ModelError, UsageError
from mcusim.model.geometry import Geometry, Tile, activation_inputs, constant_inputs, geometry, graph_macs, whole
from mcusim.model.graph import Graph, Operator, Quantization, Tensor
from mcusim.model.inspection import inspect
from mcusim.model.zoo import build, parse_name, zoo_names

__all__ = [
    "Geometry",
    "Graph",
    "Operator",
    "Quantization",
    "Tensor",
    "Tile",
    "activation_inputs",
    "constant_inputs",
    "geometry",
    "graph_macs",
    "inspect",
    "load_model",
    "whole",
    "zoo_names",
]


def load_model(name_or_path: str | Path, allow_unknown: bool = False, strict: bool = True) -> Graph:
    """The graph of a ``.tflite`` file or of a zoo network; a file goes before a zoo network of the same name.

    ``allow_unknown`` keeps operators the reader does not know, as opaque ones, with a warning on the graph. Without
    ``strict`` a graph that nothing here runs is taken too, for its memory: ``refused`` names the operators and why.
    Raises ModelError (UnsupportedError for what is valid but not supported) naming the file, the place and the value,
    UsageError for what is neither a text nor a path.
    """
    _require_name(name_or_path)
    text, path = str(name_or_path), Path(name_or_path)
    name = None if _exists(path, file=True) else parse_name(text)
    if name is not None:
        return build(name)
    if _exists(path):
        from mcusim.model.tflite.tflite_reader import read_tflite

        return read_tflite(path, allow_unknown, strict)
    patterns = ", ".join(
        f"{pattern} ({example})" if "*" in pattern else pattern for pattern, example in zoo_names().items()
    )
    raise ModelError(f"no model '{text[:200]}': neither a file nor a zoo network; the zoo has {patterns}")


def _require_name(value: object) -> None:
    if not isinstance(value, str | Path):
        kind = type(value).__name__
        raise UsageError(f"name_or_path = {repr(value)[:80]}: must be a path or a name, not {kind}")


def _exists(path: Path, file: bool = False) -> bool:
    try:
        return path.is_file() if file else path.exists()
    except (OSError, ValueError):  # too long for a file name, or no right to look
        return False
