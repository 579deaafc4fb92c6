"""Partition along H: the firmware's numbers, and that tiles hold what they compute from."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcusim.model import Geometry, Tile, geometry, load_model
from mcusim.plan.overlay.tiling import partition, smallest_factor
from tests.support.cases import sample_size


def layer(
    rows: int, kernel: int, stride: int = 1, same: bool = True, dilation: int = 1, kind: str = "CONV_2D"
) -> Geometry:
    window = (kernel - 1) * dilation + 1
    out = -(-rows // stride) if same else (rows - window) // stride + 1
    pad = max(0, (out - 1) * stride + window - rows)
    return Geometry(
        kind, 1, rows, 4, 2, out, 4, 2, kernel, 1, stride, 1, dilation, 1, pad_top=pad // 2, pad_bottom=pad - pad // 2
    )


@pytest.mark.parametrize(
    ("buffer", "factors", "tiles", "total"),
    [(50_112, {3: 1, 2: 69, 1: 6}, 147, 1_008_756), (70_848, {2: 70, 1: 6}, 146, 1_003_572)],
)
def test_tiles_of_the_published_firmware(buffer: int, factors: dict[int, int], tiles: int, total: int) -> None:
    graph = load_model("proxyless-w0.30-r144")
    sizes, parts = [], Counter[int]()
    for op in graph.operators:
        g = geometry(graph, op)
        if op.traits.partitionable:
            row = g.in_bytes // g.in_h
            found = partition(g, smallest_factor(g, row, buffer) or 0)
            parts[len(found)] += 1
            sizes += [t.in_rows * row for t in found]
        else:
            assert op.type == "RESHAPE"
    assert parts == factors
    assert (len(sizes), sum(sizes), min(sizes), max(sizes)) == (tiles, total, 384, buffer)


def test_by_hand() -> None:
    assert partition(layer(72, 5), 3) == (Tile(0, 26, 0, 28), Tile(26, 24, 24, 28), Tile(50, 22, 48, 24))
    # stride 2, top padding 1: the first part has one row more, and holds one more than its last window needs
    assert partition(layer(72, 5, 2), 3) == (Tile(0, 13, 0, 29), Tile(13, 12, 25, 27), Tile(25, 11, 49, 23))
    assert partition(layer(9, 3, same=False), 9)[-1] == Tile(6, 1, 6, 3)  # parts without an output row are dropped
    assert partition(layer(5, 7), 4) == (Tile(0, 5, 0, 5),)  # a filter as high as the input
    assert partition(layer(5, 1, kind="ADD"), 2) == (Tile(0, 3, 0, 3), Tile(3, 2, 3, 2))


def test_padding_operator_writes_its_rows_with_its_ends() -> None:
    g = Geometry("PAD", 1, 7, 4, 2, 10, 4, 2, pad_top=1, pad_bottom=2)
    assert partition(g, 3) == (Tile(0, 4, 0, 3), Tile(4, 2, 3, 2), Tile(6, 4, 5, 2))


def test_no_factor_reaches_below_a_window() -> None:
    g = layer(40, 7)
    assert smallest_factor(g, 10, 69) is None
    assert smallest_factor(g, 10, 70) == 40
    assert smallest_factor(g, 10, 10_000) == 2


layers = st.builds(
    layer,
    rows=st.integers(1, 60),
    kernel=st.integers(1, 8),
    stride=st.integers(1, 4),
    same=st.just(True),
    dilation=st.integers(1, 3),
)
valid_layers = layers.map(lambda g: layer(g.in_h + 22, g.kernel_h, g.stride_h, False, g.dilation_h))


@given(st.one_of(layers, valid_layers), st.integers(2, 12))
@settings(max_examples=sample_size(500, 100))
def test_every_output_row_once_and_from_rows_that_are_there(g: Geometry, factor: int) -> None:
    tiles = partition(g, factor)
    assert len(tiles) <= factor
    assert max(tile.in_rows for tile in tiles) <= g.in_h
    row = 0
    for tile in tiles:
        assert tile.out_row == row and tile.out_rows > 0
        row += tile.out_rows
        assert tile.in_row >= 0 and tile.in_row + tile.in_rows <= g.in_h
        first = tile.out_row * g.stride_h - g.pad_top
        last = (row - 1) * g.stride_h - g.pad_top + (g.kernel_h - 1) * g.dilation_h
        assert min(max(first, 0), g.in_h - 1) >= tile.in_row
        assert min(last, g.in_h - 1) < tile.in_row + tile.in_rows
    assert row == g.out_h
