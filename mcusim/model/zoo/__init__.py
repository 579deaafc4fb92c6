"""Networks built in memory from published architectures, with random weights."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from mcusim.model.graph import Graph
from mcusim.model.zoo.names import ZooName, parse_name, zoo_names

__all__ = ["ZooName", "build", "outline", "parse_name", "zoo_names"]


@lru_cache(maxsize=24)
def build(name: ZooName) -> Graph:
    """The network's graph; the same name always gives the same weights and scales.

    ``sha256`` is that of the definition and ``file_bytes`` an estimate, see
    :func:`mcusim.model.zoo.builder.estimate_file_bytes`.
    """
    from mcusim.model.zoo.builder import build_layers, estimate_file_bytes
    from mcusim.model.zoo.quantization import ZooQuantizer

    graph = _with_pads(ZooQuantizer(build_layers(replace(name, pads=False))).run(), name)
    return replace(graph, file_bytes=estimate_file_bytes(graph))


def outline(name: ZooName) -> Graph:
    """The operators and shapes of the network's graph, without the scales, which take a run of it."""
    from mcusim.model.zoo.builder import build_layers

    return _with_pads(build_layers(replace(name, pads=False)), name)


def _with_pads(graph: Graph, name: ZooName) -> Graph:
    if name.pads or name.architecture.exported:
        from mcusim.model.zoo.builder import definition_sha256
        from mcusim.model.zoo.explicit_pads import with_pads

        graph = with_pads(graph, everywhere=name.architecture.exported)
        graph = replace(graph, name=str(name), sha256=definition_sha256(name, name.architecture))
    return graph
