"""Overlay buffers as the TinyOps firmware of 2023 divides its SRAM: two for tiles, one for filters, one for scratch.

The first second buffer has the filters and half of the second inputs, the other the other half and the kernels' scratch
(im2col). No filter is copied while one is read, so the first needs no twin and takes all the SRAM that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mcusim.plan.arena import ALIGN
from mcusim.plan.overlay.buffers import CopyPlan, OverlaySizes, sizes_at, smallest_that_fits
from mcusim.plan.placement import MemoryNeeds
from mcusim.plan.pools import Pool


def choose_one_filter_buffer(
    need: MemoryNeeds,
    plans: Sequence[CopyPlan],
    pool: Pool,
    padded: Callable[[int], int],
    largest_tile: int | None = None,
) -> OverlaySizes:
    """The smallest global factor, from 2 on, whose buffers fit ``pool``, and their sizes.

    Both second buffers are at least as large as a tile buffer, and the one with scratch as the largest scratch. If no
    factor fits that way, they only hold second inputs and scratch. Where filters are copied, their buffer has all of
    the pool that is left; filters that do not fit are read in place. ``padded`` gives the bytes a buffer takes with its
    alignment. ``largest_tile``: the most bytes that a tile buffer may have.

    Source: the compile-time sizes of the public TinyOps firmware, which follow this rule. Raises DoesNotFit with the
    smallest total of any factor, UsageError where every factor's tile is too large.
    """
    filters = any(c.filter for c in plans)

    def demand(factor: int, as_tiles: bool) -> OverlaySizes:
        sizes = sizes_at(need, plans, factor, with_filters=False)
        second = max(sizes.second, sizes.tile) if as_tiles else sizes.second
        return replace(sizes, second=second, scratch=max(second, sizes.scratch), one_filter_buffer=True)

    sizes = smallest_that_fits(need, plans, pool, padded, demand, largest_tile)
    if not filters:
        return sizes
    room = pool.size - replace(sizes, second=0).total(padded)
    return replace(sizes, second=max(sizes.second, _largest(room, padded)))


def _largest(room: int, padded: Callable[[int], int]) -> int:
    """The largest whole multiple of the alignment that takes at most ``room`` bytes; 0 when none does."""
    size = room // ALIGN * ALIGN
    while size > 0 and padded(size) > room:
        size -= ALIGN
    return max(size, 0)
