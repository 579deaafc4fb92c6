"""What networks of a space need and compute: all of a draw at once, as the planner would say of each.

Not modelled: weights that are read from elsewhere than flash.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from mcusim.model.graph import Graph
from mcusim.model.zoo.builder import GraphBuilder, estimate_file_bytes
from mcusim.nas_search.placement.joined import place
from mcusim.nas_search.placement.placement_layout import (
    BLOCKS,
    SCRATCHES,
    PlacedBlock,
    PlacedBlocks,
    PlacementTask,
    SearchedNetwork,
    SearchedNetworks,
    SegmentRows,
)
from mcusim.nas_search.segments import SegmentRules, segment_rows
from mcusim.nas_search.space import DEPTHS, EXPANSIONS, KERNELS, NasNetwork, NasSpace
from mcusim.native.structs import Words
from mcusim.runtime.runtime import find_runtime

Array = np.ndarray[Any, np.dtype[np.int64]]
_COMBINATIONS = len(KERNELS) * len(EXPANSIONS)


@dataclass(frozen=True)
class NetworkFigures:
    """Of networks, one place each: multiply-accumulates, bytes of RAM and of flash."""

    macs: Array
    ram: Array
    flash: Array

    def fitting(self, ram: int, flash: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which fit."""
        return (self.ram <= ram) & (self.flash <= flash)


@lru_cache(maxsize=256)
def _rows(space: NasSpace, runtime: str, in_place: bool) -> tuple[Array, SegmentRules, dict[str, int]]:
    rules = _rules(runtime, in_place)
    rows, extra = segment_rows(space, rules)
    return rows, rules, dict(extra)


@lru_cache(maxsize=8)
def _rules(runtime: str, in_place: bool = True) -> SegmentRules:
    return SegmentRules.of(runtime, in_place)


@lru_cache(maxsize=4096)
def _code(runtime: str, in_place: bool, mask: int, isa: str) -> int:
    return _rules(runtime, in_place).code_bytes(mask, isa)


def network_figures(space: NasSpace, choices: Array, runtime: str, isa: str, in_place: bool = True) -> NetworkFigures:
    """Of ``choices``, rows of :func:`mcusim.nas_search.space.drawn`, for the kernels of ``runtime`` on a core;
    ``in_place``: where compiled code needs less so, as the runtime chooses it."""
    figures = _figures(space, choices, runtime, isa, in_place)
    array = find_runtime(runtime).array
    if not in_place or array is None or not array.own_kernels:
        return figures
    apart = _figures(space, choices, runtime, isa, False)
    less = apart.ram < figures.ram
    return NetworkFigures(
        figures.macs, np.where(less, apart.ram, figures.ram), np.where(less, apart.flash, figures.flash)
    )


def _figures(space: NasSpace, choices: Array, runtime: str, isa: str, in_place: bool) -> NetworkFigures:
    rows, rules, extra = _rows(space, runtime, in_place)
    ids, counts = network_parts(choices)
    networks = SearchedNetworks(np.zeros(len(choices) * SearchedNetwork.WORDS, np.int64))
    most = int(counts.max(initial=1)) * (BLOCKS + 1 + SCRATCHES) + 1
    blocks, segments = PlacedBlocks(np.zeros(most * PlacedBlock.WORDS, np.int64)), SegmentRows(rows.reshape(-1))
    task = PlacementTask(np.zeros(PlacementTask.WORDS, np.int64))
    task.rows, task.parts, task.part_counts = segments, Words(ids), Words(counts)
    task.blocks, task.networks, task.count = blocks, networks, len(choices)
    task.static_array, task.input_bytes = rules.runtime.array is not None, extra["input"]
    place(task)
    values = networks.records.table(len(choices))
    ram = values["arena"] + values["shared"] + values["runtime"] + extra["filters"]
    masks, places = np.unique(values["symbols"], return_inverse=True)
    code = np.array([_code(runtime, in_place, int(mask), isa) for mask in masks], np.int64)[places]
    return NetworkFigures(values["macs"], ram, values["stored"] + values["tables"] + code + extra["tables"])


def network_parts(choices: Array) -> tuple[Array, Array]:
    """Numbers of rows, network by network, and how many each has."""
    depths = np.array([*DEPTHS])[choices[:, :5]]
    depths = np.concatenate([depths, np.ones((len(choices), 1), np.int64)], axis=1)
    pairs = choices[:, 5:].reshape(len(choices), -1, 2)
    number = pairs[:, :, 0] * len(EXPANSIONS) + pairs[:, :, 1]
    most, parts = max(DEPTHS), [np.zeros((len(choices), 1), np.int64)]
    present = [np.ones((len(choices), 1), bool)]
    for stage in range(depths.shape[1]):
        for index in range(most if stage < depths.shape[1] - 1 else 1):
            first = 2 + (2 * stage + (index > 0)) * _COMBINATIONS
            parts.append(first + number[:, [stage * most + index]])
            present.append(depths[:, [stage]] > index)
    parts.append(np.ones((len(choices), 1), np.int64))
    present.append(np.ones((len(choices), 1), bool))
    whole, there = np.concatenate(parts, axis=1), np.concatenate(present, axis=1)
    return np.ascontiguousarray(whole[there]), np.ascontiguousarray(there.sum(axis=1).astype(np.int64))


def network_graph(network: NasNetwork, name: str = "nas") -> Graph:
    """The network with random weights and scales, as the zoo has its own."""
    from mcusim.model.zoo.quantization import ZooQuantizer

    space = network.space
    builder = GraphBuilder(name, network.architecture, space.width, space.resolution)
    builder.build()
    graph = ZooQuantizer(builder.graph).run()
    return replace(graph, file_bytes=estimate_file_bytes(graph))
