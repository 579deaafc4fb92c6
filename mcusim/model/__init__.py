"""Models as graphs: the ``.tflite`` reader, the zoo, geometries and inspection.

numpy and tflite are imported when a model is loaded, not before.
"""

from __future__ import annotations

from pathlib import Path

from mcusim.errors import ModelError
from mcusim.model.geometry import Geometry, Tile, whole
from mcusim.model.geometry_of import activation_inputs, constant_inputs, geometry, graph_macs
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


def load_model(name_or_path: str | Path, allow_unknown: bool = False) -> Graph:
    """The graph of a ``.tflite`` file or of a zoo network; a file of that name goes first.

    ``allow_unknown`` keeps operators the reader does not know, as copies, with a warning on the graph.
    Raises ModelError (UnsupportedError for what is valid but not supported) naming the file, the place and the value.
    """
    text, path = str(name_or_path), Path(name_or_path)
    if "\0" not in text and len(text) < 4096:
        name = parse_name(text) if not path.exists() else None
        if name is not None:
            return build(name)
        if path.exists():
            from mcusim.model.tflite_read import read_tflite

            return read_tflite(path, allow_unknown)
    patterns = ", ".join(
        f"{pattern} ({example})" if "*" in pattern else pattern for pattern, example in zoo_names().items()
    )
    raise ModelError(f"no model '{text[:200]}': neither a file nor a zoo network; the zoo has {patterns}")
