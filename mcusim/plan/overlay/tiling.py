"""Partition of an operator along H, with halo rows and padding, by the rules of the TinyOps firmware.

Rows of the input are dealt round robin, ``stride_h`` rows at a time, to ``factor`` parts. A part also holds the rows
below its own that its last receptive field reaches (the halo), clamped to the input.
"""

from __future__ import annotations

from functools import lru_cache

from mcusim.model.geometry import Geometry, Tile


def partition(g: Geometry, factor: int) -> tuple[Tile, ...]:
    """The tiles of ``g`` for ``factor`` (>= 1); together they compute every output row once, in order.

    One part if the filter (dilated) is at least as high as the input. Otherwise the first part gets
    ``pad_top mod stride_h`` rows more and what is left over (fewer than ``stride_h`` rows) goes to the last part. A
    part that would produce no output row is dropped. Top padding belongs to the first part, bottom padding to the last;
    PAD writes its own padding rows there. The firmware's rule is right for strides 1 and 2; for larger ones its parts
    can miss rows that their windows need, which are added here. Not modelled: batches, which are not contiguous along H
    (the caller checks).
    """
    height = _window(g)
    if height >= g.in_h or factor == 1:
        return (Tile(0, g.out_h, 0, g.in_h),)
    parts: list[tuple[int, int, int, int]] = []  # output rows from .. to, input rows from .. to
    start = done = 0
    for own in _deal(g, factor):
        if done == g.out_h:
            break
        reach = start + own - (own % g.stride_h or g.stride_h) + height
        rows = _rows(g, start, own, done, reach)
        parts.append((done, done + rows, start, min(reach, g.in_h)))
        start, done = start + own, done + rows
    done, _, start, end = parts[-1]
    parts[-1] = (done, g.out_h, start, end)
    return tuple(_tile(g, *part) for part in parts if part[0] < part[1])


def _tile(g: Geometry, out_row: int, out_end: int, start: int, end: int) -> Tile:
    """The tile, widened where its windows need more input rows than the rule gave it."""
    if not g.traits.pads:
        start = min(start, max(out_row * g.stride_h - g.pad_top, 0))
        end = max(end, min((out_end - 1) * g.stride_h - g.pad_top + _window(g), g.in_h))
    return Tile(out_row, out_end - out_row, start, end - start)


@lru_cache(maxsize=1 << 16)
def most_rows(g: Geometry, factor: int) -> int:
    """Input rows of the largest tile of ``g`` for ``factor``; asked for again by each plan of a network."""
    return max(tile.in_rows for tile in partition(g, factor))


def smallest_factor(g: Geometry, row: int, largest: int, least: int = 2) -> int | None:
    """The smallest factor from ``least`` on whose largest tile (``row`` bytes a row) is at most ``largest`` bytes.

    None when no factor gets there. A partition into one part (see :func:`partition`) counts as factor 2.
    """
    for factor in range(min(least, g.in_h), max(g.in_h, 2) + 1):
        if most_rows(g, factor) * row <= largest:
            return factor
    return None


def _window(g: Geometry) -> int:
    return (g.kernel_h - 1) * g.dilation_h + 1


def _deal(g: Geometry, factor: int) -> list[int]:
    """Each part's own input rows."""
    extra = 0 if g.traits.pads else g.pad_top % g.stride_h
    shares, left = divmod(g.in_h - extra, g.stride_h)
    parts = max(1, min(factor, shares))
    base, more = divmod(shares, parts)
    own = [(base + (i < more)) * g.stride_h for i in range(parts)]
    own[0] += extra
    own[-1] += left
    return own


def _rows(g: Geometry, start: int, own: int, done: int, reach: int) -> int:
    """Output rows of the part whose own input rows are ``start .. start+own``; ``reach`` is where its last receptive
    field would end."""
    left = g.out_h - done
    if not g.traits.pads and reach > g.in_h and left <= own // g.stride_h + 1:
        return left
    return min(left, -(-(start + own + g.pad_top) // g.stride_h) - done)
