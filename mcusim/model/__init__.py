"""Models as graphs: the ``.tflite`` reader, the zoo, geometries and inspection.

numpy and tflite are imported when a model is loaded, not before.
"""

from __future__ import annotations

from pathlib import Path

from mcusim.errors import ModelError
from mcusim.model.geometry import Geometry, Tile, whole
from mcusim.model.geometry_of import activation_inputs, constant_inputs, geometry, graph_macs
from mcusim.model.graph import Graph, Operator, Quantization, Tensor
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
    "load_model",
    "whole",
    "zoo_names",
]


def load_model(name_or_path: str | Path, allow_unknown: bool = False) -> Graph:
    """The graph of a ``.tflite`` file or of a zoo network."""
    name = parse_name(str(name_or_path))
    if name is None:
        raise ModelError(f"no model '{name_or_path}'")
    return build(name)
