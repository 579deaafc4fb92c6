"""Networks built in memory from published architectures, with random weights."""

from __future__ import annotations

from functools import lru_cache

from mcusim.model.graph import Graph
from mcusim.model.zoo.names import ZooName, parse_name, zoo_names

__all__ = ["ZooName", "build", "parse_name", "zoo_names"]


@lru_cache(maxsize=8)
def build(name: ZooName) -> Graph:
    """The network's graph; the same name always gives the same bytes."""
    from mcusim.model.zoo.builder import Builder, definition_sha256

    builder = Builder(name)
    builder.build()
    return Graph(
        name=str(name),
        tensors=tuple(builder.tensors),
        operators=tuple(builder.operators),
        inputs=(0,),
        outputs=(builder.current,),
        sha256=definition_sha256(name, builder.architecture),
        random_weights=True,
    )
