"""The access streams of each kernel's loop nest, native: what the loops load and store, in their order.

Every function takes the memory state and a parameter array ``p`` (slots below) and replays one kernel call on
:func:`mcusim.memory.ports.replay.walk`. Streams that alternate inside an inner loop are replayed in turns of 32 bytes
and marked as interleaved. ``G_*`` are ticks of core work per access in a loop level, so that memories see the core's
pace.

Sources: CMSIS-NN 5.8.0 (``arm_nn_mat_mult_nt_t_s8``, ``arm_convolve_s8``, ``arm_depthwise_conv_s8_opt``,
``arm_depthwise_conv_3x3_s8``, ``arm_nn_vec_mat_mult_t_s8``, ``arm_elementwise_add_s8``, ``arm_avgpool_s8``) and TFLM of
2021 (``reference_ops::PadImpl``). Not modelled: loads and stores of the stack (they hit zero-wait memory on every
machine here and are in the compute cycles).
"""

from __future__ import annotations

from mcusim.memory.ports.replay import cached_range, coupled_range, read_coupled, read_held, walk, walk_in
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import MemoryState
from mcusim.native.compile import State, native
from mcusim.native.structs import Words

IN, IN2, W, OUT, BIAS, MUL, SHIFT, SCR = range(8)
IN_H, IN_W, IN_C, OUT_W, OUT_C, KH, KW, SH, SW, DH, DW, PT, PL = range(8, 21)
ROW, ROWS, IROW, SIZE, SIZE2, OUT_SIZE = range(21, 27)
G_BLOCK, G_REST, G_SUM, G_COPY, G_ZERO, G_OUT = range(27, 33)
HELD, HELD_LINES = 33, 256  # offsets of the cache's lines that had weights and columns, then of each operand
SLOTS = HELD + HELD_LINES + 16
TURN = 32


@native
def parameters(memory: MemoryState, p: State, channel: int, n: int) -> None:
    """Bias, multiplier and shift of ``n`` channels, as the requantisation reads them."""
    for role in (BIAS, MUL, SHIFT):
        if p[role] >= 0:
            array, gap = p[role] + 4 * channel, 0 if role == BIAS else p[G_OUT]
            q = cached_range(memory, array, 4 * n)
            if q >= 0:
                due = read_held(memory, Words(p, HELD + HELD_LINES + 2 * role), q, array, 4 * n, 4, gap, 0)
                memory.now += due
            else:
                walk(memory, array, 4 * n, 4, 0, gap, 0)


@native
def block_of_pair(memory: MemoryState, p: State, weights: int, rows: int, first: int, n: int) -> None:
    """Weights of ``rows`` channels against ``n`` pixels, 16 of their depth at a time."""
    depth = p[IN_C]
    block = depth // 16 * 16
    filters, inputs = find(memory, p[W]), find(memory, p[IN])
    for k in range(0, block, TURN):
        part = min(TURN, block - k)
        for i in range(rows):
            walk_in(memory, filters, weights + i * depth + k, part, 4, 0, p[G_BLOCK], 1)
        for i in range(n):
            walk_in(memory, inputs, first + i * depth + k, part, 4, 0, p[G_BLOCK], 1)


@native
def block_of_pair_coupled(
    memory: MemoryState, p: State, filters: int, inputs: int, weights: int, rows: int, n: int
) -> None:
    """:func:`block_of_pair` of cached weights and pixels in tightly coupled memory, in fewer steps."""
    depth, gap = p[IN_C], p[G_BLOCK]
    block = depth // 16 * 16
    due = 0
    for k in range(0, block, TURN):
        part = min(TURN, block - k)
        for i in range(rows):
            held = HELD + ((k // TURN * 2 + i) * 2 & HELD_LINES - 1)
            due = read_held(memory, Words(p, held), filters, weights + i * depth + k, part, 4, gap, due)
        due += n * part // 4 * gap
    memory.now += due
    read_coupled(memory, inputs, n * block // 4, 4, gap)


@native
def pointwise(memory: MemoryState, p: State) -> None:
    """Pairs of output channels outside, pairs of pixels inside: weights of two channels against two pixels."""
    depth, channels = p[IN_C], p[OUT_C]
    pixels = p[ROWS] * p[OUT_W]
    block = depth // 16 * 16
    filters, inputs = cached_range(memory, p[W], channels * depth), coupled_range(memory, p[IN], pixels * depth)
    for core in range(0, channels, 2):
        rows = min(2, channels - core)
        weights = p[W] + core * depth
        for k in range(0, depth, TURN):  # the offset's share, summed over both filters in step
            for i in range(rows):
                walk(memory, weights + i * depth + k, min(TURN, depth - k), 1, 0, p[G_SUM], 1)
        for exceptions in range(0, pixels, 2):
            n = min(2, pixels - exceptions)
            first = p[IN] + exceptions * depth
            if filters >= 0 and inputs >= 0:
                block_of_pair_coupled(memory, p, filters, inputs, weights, rows, n)
            else:
                block_of_pair(memory, p, weights, rows, first, n)
            if block < depth:
                for i in range(rows):
                    walk(memory, weights + i * depth + block, depth - block, 1, 0, p[G_REST], 1)
                for i in range(n):
                    walk(memory, first + i * depth + block, depth - block, 1, 0, p[G_REST], 1)
            parameters(memory, p, core, rows)
            for i in range(n):
                walk(memory, p[OUT] + (exceptions + i) * channels + core, rows, 1, 1, p[G_OUT], 0)


@native
def column(memory: MemoryState, p: State, y: int, exceptions: int, target: int) -> None:
    """im2col of one pixel into ``target``: int8 read, q15 written, padding cleared byte by byte."""
    depth = p[IN_C]
    inputs, columns = find(memory, p[IN]), find(memory, p[SCR])
    for ky in range(p[KH]):
        iy = y * p[SH] - p[PT] + ky * p[DH]
        for kx in range(p[KW]):
            ix = exceptions * p[SW] - p[PL] + kx * p[DW]
            if iy < 0 or iy >= p[IN_H] or ix < 0 or ix >= p[IN_W]:
                walk(memory, target, 2 * depth, 1, 1, p[G_ZERO], 0)
            else:
                source = p[IN] + ((iy - p[IROW]) * p[IN_W] + ix) * depth
                if depth >= 4:
                    walk_in(memory, inputs, source, depth, 4, 0, p[G_COPY], 1)
                    walk_in(memory, columns, target, 2 * depth, 4, 1, p[G_COPY], 1)
                else:
                    walk(memory, source, depth, 1, 0, p[G_COPY], 1)
                    walk(memory, target, 2 * depth, 2, 1, p[G_COPY], 1)
            target += 2 * depth


@native
def conv(memory: MemoryState, p: State) -> None:
    """im2col of two pixels, then pairs of output channels against the two columns."""
    window = p[KH] * p[KW] * p[IN_C]
    channels = p[OUT_C]
    pixels = p[ROWS] * p[OUT_W]
    for exceptions in range(0, pixels, 2):
        n = min(2, pixels - exceptions)
        for i in range(n):
            y = p[ROW] + (exceptions + i) // p[OUT_W]
            column(memory, p, y, (exceptions + i) % p[OUT_W], p[SCR] + i * 2 * window)
        for core in range(0, channels, 2):
            rows = min(2, channels - core)
            for k in range(0, window, TURN):
                part = min(TURN, window - k)
                size = 4 if part >= 4 else 1
                for i in range(rows):
                    walk(memory, p[W] + (core + i) * window + k, part, size, 0, p[G_BLOCK], 1)
                for i in range(n):
                    walk(memory, p[SCR] + 2 * (i * window + k), 2 * part, 4, 0, p[G_BLOCK], 1)
            parameters(memory, p, core, rows)
            for i in range(n):
                walk(memory, p[OUT] + (exceptions + i) * channels + core, rows, 1, 1, p[G_OUT], 0)


@native
def taps_of_column(memory: MemoryState, p: State, filters: int, columns: int, core: int, n: int) -> None:
    """``n`` channels from ``c`` on down the taps; ``filters`` and ``columns``: range records, -1 where uncached."""
    channels, gap = p[OUT_C], p[G_BLOCK]
    if filters >= 0 and columns >= 0:
        due = 0
        for t in range(p[KH] * p[KW]):
            held = HELD + (t * 4 & HELD_LINES - 1)
            due = read_held(memory, Words(p, held), filters, p[W] + t * channels + core, n, 4, gap, due)
            due = read_held(memory, Words(p, held + 2), columns, p[SCR] + 2 * (t * channels + core), 2 * n, 4, gap, due)
        memory.now += due
        return
    filters, columns = find(memory, p[W]), find(memory, p[SCR])
    for t in range(p[KH] * p[KW]):
        walk_in(memory, filters, p[W] + t * channels + core, n, 4, 0, gap, 1)
        walk_in(memory, columns, p[SCR] + 2 * (t * channels + core), 2 * n, 4, 0, gap, 1)


@native
def depthwise(memory: MemoryState, p: State) -> None:
    """im2col of a pixel over all channels, then four channels at a time down the taps."""
    channels = p[OUT_C]
    bytes_ = p[KH] * p[KW] * channels
    filters, columns = cached_range(memory, p[W], bytes_), cached_range(memory, p[SCR], 2 * bytes_)
    for pixel in range(p[ROWS] * p[OUT_W]):
        column(memory, p, p[ROW] + pixel // p[OUT_W], pixel % p[OUT_W], p[SCR])
        for core in range(0, channels, 4):
            n = min(4, channels - core)
            taps_of_column(memory, p, filters, columns, core, n)
            parameters(memory, p, core, n)
            walk(memory, p[OUT] + pixel * channels + core, n, 1, 1, p[G_OUT], 0)


@native
def taps_of_pixel(memory: MemoryState, p: State, filters: int, inputs: int, y: int, exceptions: int, core: int) -> None:
    """Input and weights tap by tap for up to four channels from ``c`` on; ``filters`` is -1 where they are uncached,
    ``inputs`` where they are not in tightly coupled memory."""
    channels, depth, gap = p[OUT_C], p[IN_C], p[G_BLOCK]
    near_weights, near_input = find(memory, p[W]), find(memory, p[IN])
    n = min(4, channels - core)
    due = 0
    for ky in range(p[KH]):
        iy = y * p[SH] - p[PT] + ky * p[DH]
        if iy < 0 or iy >= p[IN_H]:
            continue
        for kx in range(p[KW]):
            ix = exceptions * p[SW] - p[PL] + kx * p[DW]
            if 0 <= ix < p[IN_W]:
                weights = p[W] + (ky * p[KW] + kx) * channels + core
                if filters >= 0 and inputs >= 0:
                    due += read_coupled(memory, inputs, 1, 4, gap)
                    held = HELD + ((ky * p[KW] + kx) * 2 & HELD_LINES - 1)
                    due = read_held(memory, Words(p, held), filters, weights, n, 4, gap, due)
                else:
                    source = p[IN] + ((iy - p[IROW]) * p[IN_W] + ix) * depth
                    walk_in(memory, near_input, source + core * depth // channels, n, 4, 0, gap, 1)
                    walk_in(memory, near_weights, weights, n, 4, 0, gap, 1)
    memory.now += due


@native
def depthwise_direct(memory: MemoryState, p: State) -> None:
    """No im2col: four channels at a time, input and weights tap by tap (3x3, and any multiplier)."""
    channels = p[OUT_C]
    filters = cached_range(memory, p[W], p[KH] * p[KW] * channels)
    inputs = coupled_range(memory, p[IN], p[SIZE])
    for pixel in range(p[ROWS] * p[OUT_W]):
        y, exceptions = p[ROW] + pixel // p[OUT_W], pixel % p[OUT_W]
        for core in range(0, channels, 4):
            n = min(4, channels - core)
            taps_of_pixel(memory, p, filters, inputs, y, exceptions, core)
            parameters(memory, p, core, n)
            walk(memory, p[OUT] + pixel * channels + core, n, 1, 1, p[G_OUT], 0)


@native
def fully_connected(memory: MemoryState, p: State) -> None:
    """Two rows of weights against the input vector at a time."""
    depth = p[IN_C]
    for branches in range(p[ROWS] * p[OUT_W]):
        for core in range(0, p[OUT_C], 2):
            rows = min(2, p[OUT_C] - core)
            for k in range(0, depth, TURN):
                part = min(TURN, depth - k)
                for i in range(rows):
                    walk(memory, p[W] + (core + i) * depth + k, part, 4, 0, p[G_BLOCK], 1)
                walk(memory, p[IN] + branches * depth + k, part, 4, 0, p[G_BLOCK], 1)
            parameters(memory, p, core, rows)
            walk(memory, p[OUT] + branches * p[OUT_C] + core, rows, 1, 1, p[G_OUT], 0)


@native
def pool(memory: MemoryState, p: State) -> None:
    """Each output pixel reads its window channel by channel into 32-bit sums, then scales them."""
    depth = p[IN_C]
    for pixel in range(p[ROWS] * p[OUT_W]):
        y, exceptions = p[ROW] + pixel // p[OUT_W], pixel % p[OUT_W]
        for ky in range(p[KH]):
            iy = y * p[SH] - p[PT] + ky * p[DH]
            for kx in range(p[KW]):
                ix = exceptions * p[SW] - p[PL] + kx * p[DW]
                if 0 <= iy < p[IN_H] and 0 <= ix < p[IN_W]:
                    walk(memory, p[IN] + ((iy - p[IROW]) * p[IN_W] + ix) * depth, depth, 1, 0, p[G_BLOCK], 1)
                    if p[SCR] >= 0:
                        walk(memory, p[SCR], 4 * depth, 4, 0, p[G_BLOCK], 1)
                        walk(memory, p[SCR], 4 * depth, 4, 1, p[G_BLOCK], 1)
        walk(memory, p[OUT] + pixel * depth, depth, 1, 1, p[G_OUT], 0)


@native
def pad(memory: MemoryState, p: State) -> None:
    """Byte by byte: an input's row read and written, padding written.

    Not modelled: how many of the padded channels are in front; the geometry does not have it, all are written at the
    end.
    """
    channels, source, target = p[OUT_C], p[IN], p[OUT]
    depth = min(p[IN_C], channels)
    for pixel in range(p[ROWS] * p[OUT_W]):
        y, exceptions = p[ROW] + pixel // p[OUT_W] - p[PT], pixel % p[OUT_W] - p[PL]
        if 0 <= y < p[IN_H] and 0 <= exceptions < p[IN_W]:
            for k in range(0, depth, TURN):
                walk(memory, source + k, min(TURN, depth - k), 1, 0, p[G_COPY], 1)
                walk(memory, target + k, min(TURN, depth - k), 1, 1, p[G_COPY], 1)
            if channels > depth:
                walk(memory, target + depth, channels - depth, 1, 1, p[G_ZERO], 0)
            source += p[IN_C]
        else:
            walk(memory, target, channels, 1, 1, p[G_ZERO], 0)
        target += channels


@native
def sequential(memory: MemoryState, p: State) -> None:
    """Inputs read once and outputs written once, in step, a word at a time."""
    longest = max(p[SIZE], p[SIZE2], p[OUT_SIZE])
    for k in range(0, longest, TURN):
        if k < p[SIZE]:
            walk(memory, p[IN] + k, min(TURN, p[SIZE] - k), 4, 0, p[G_BLOCK], 1)
        if k < p[SIZE2]:
            walk(memory, p[IN2] + k, min(TURN, p[SIZE2] - k), 4, 0, p[G_BLOCK], 1)
        if k < p[OUT_SIZE]:
            walk(memory, p[OUT] + k, min(TURN, p[OUT_SIZE] - k), 4, 1, p[G_BLOCK], 1)
