"""The access streams of each kernel's loop nest, native: what the loops load and store, in their order.

Every function takes the memory state and a :class:`CountedCall` and replays one kernel call on
:func:`mcusim.memory.ports.replay.walk`. Streams that alternate inside an inner loop are replayed in turns of 32 bytes
and marked as interleaved. Gaps are ticks of core work per access in a loop level, so that memories see the core's
pace.

Sources: CMSIS-NN 5.8.0 (``arm_nn_mat_mult_nt_t_s8``, ``arm_convolve_s8``, ``arm_depthwise_conv_s8_opt``,
``arm_depthwise_conv_3x3_s8``, ``arm_nn_vec_mat_mult_t_s8``, ``arm_elementwise_add_s8``, ``arm_avgpool_s8``) and TFLM of
2021 (``reference_ops::PadImpl``). Not modelled: loads and stores of the stack (they hit zero-wait memory on every
machine here and are in the compute cycles).
"""

from __future__ import annotations

from typing import Annotated

from mcusim.memory.ports.replay import cached_range, coupled_range, read_coupled, read_held, walk, walk_in
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import MemoryState
from mcusim.native.compile import native
from mcusim.native.structs import Struct, Words

HINTS, OPERAND_HINTS, TURN = 256, 6, 32


class CountedCall(Struct, root=True):
    """Addresses of the operands (-1: none), shapes, sizes in bytes, gaps."""

    input: int
    second_input: int
    filter: int
    output: int
    bias: int
    multiplier: int
    shift: int
    scratch: int
    in_h: int
    in_w: int
    in_c: int
    out_w: int
    out_c: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    dilation_h: int
    dilation_w: int
    pad_top: int
    pad_left: int
    first_row: int
    rows: int
    first_input_row: int
    input_size: int
    second_size: int
    output_size: int
    block_gap: int
    rest_gap: int
    sum_gap: int
    copy_gap: int
    zero_gap: int
    output_gap: int
    # offsets of the cache's lines that had weights and columns, and bias, multiplier and shift
    hints: Annotated[Words, HINTS]
    operand_hints: Annotated[Words, OPERAND_HINTS]


@native
def parameter(memory: MemoryState, hints: Words, array: int, n: int, gap: int) -> None:
    """``n`` words of an operand that has one for each channel (negative: there is none)."""
    if array < 0:
        return
    addresses = cached_range(memory, array, 4 * n)
    if addresses >= 0:
        due = read_held(memory, hints, addresses, array, 4 * n, 4, gap, 0)
        memory.now += due
    else:
        walk(memory, array, 4 * n, 4, 0, gap, 0)


@native
def parameters(memory: MemoryState, call: CountedCall, channel: int, n: int) -> None:
    """Bias, multiplier and shift of ``n`` channels, as the requantisation reads them."""
    first, hints, gap = 4 * channel, call.operand_hints, call.output_gap
    parameter(memory, Words(hints, 0), call.bias + first if call.bias >= 0 else -1, n, 0)
    parameter(memory, Words(hints, 2), call.multiplier + first if call.multiplier >= 0 else -1, n, gap)
    parameter(memory, Words(hints, 4), call.shift + first if call.shift >= 0 else -1, n, gap)


@native
def block_of_pair(memory: MemoryState, call: CountedCall, weights: int, rows: int, first: int, n: int) -> None:
    """Weights of ``rows`` channels against ``n`` pixels, 16 of their depth at a time."""
    depth = call.in_c
    block = depth // 16 * 16
    filters, inputs = find(memory, call.filter), find(memory, call.input)
    for k in range(0, block, TURN):
        part = min(TURN, block - k)
        for i in range(rows):
            walk_in(memory, filters, weights + i * depth + k, part, 4, 0, call.block_gap, 1)
        for i in range(n):
            walk_in(memory, inputs, first + i * depth + k, part, 4, 0, call.block_gap, 1)


@native
def block_of_pair_coupled(
    memory: MemoryState, call: CountedCall, filters: int, inputs: int, weights: int, rows: int, n: int
) -> None:
    """:func:`block_of_pair` of cached weights and pixels in tightly coupled memory, in fewer steps."""
    depth, gap = call.in_c, call.block_gap
    block = depth // 16 * 16
    due = 0
    for k in range(0, block, TURN):
        part = min(TURN, block - k)
        for i in range(rows):
            hints = Words(call.hints, (k // TURN * 2 + i) * 2 & HINTS - 1)
            due = read_held(memory, hints, filters, weights + i * depth + k, part, 4, gap, due)
        due += n * part // 4 * gap
    memory.now += due
    read_coupled(memory, inputs, n * block // 4, 4, gap)


@native
def pointwise(memory: MemoryState, call: CountedCall) -> None:
    """Pairs of output channels outside, pairs of pixels inside: weights of two channels against two pixels."""
    depth, channels = call.in_c, call.out_c
    pixels = call.rows * call.out_w
    block = depth // 16 * 16
    filters, inputs = (
        cached_range(memory, call.filter, channels * depth),
        coupled_range(memory, call.input, pixels * depth),
    )
    for channel in range(0, channels, 2):
        rows = min(2, channels - channel)
        weights = call.filter + channel * depth
        for k in range(0, depth, TURN):  # the offset's share, summed over both filters in step
            for i in range(rows):
                walk(memory, weights + i * depth + k, min(TURN, depth - k), 1, 0, call.sum_gap, 1)
        for x in range(0, pixels, 2):
            n = min(2, pixels - x)
            first = call.input + x * depth
            if filters >= 0 and inputs >= 0:
                block_of_pair_coupled(memory, call, filters, inputs, weights, rows, n)
            else:
                block_of_pair(memory, call, weights, rows, first, n)
            if block < depth:
                for i in range(rows):
                    walk(memory, weights + i * depth + block, depth - block, 1, 0, call.rest_gap, 1)
                for i in range(n):
                    walk(memory, first + i * depth + block, depth - block, 1, 0, call.rest_gap, 1)
            parameters(memory, call, channel, rows)
            for i in range(n):
                walk(memory, call.output + (x + i) * channels + channel, rows, 1, 1, call.output_gap, 0)


@native
def column(memory: MemoryState, call: CountedCall, y: int, x: int, target: int) -> None:
    """im2col of one pixel into ``target``: int8 read, q15 written, padding cleared byte by byte."""
    depth = call.in_c
    inputs, columns = find(memory, call.input), find(memory, call.scratch)
    for ky in range(call.kernel_h):
        iy = y * call.stride_h - call.pad_top + ky * call.dilation_h
        for kx in range(call.kernel_w):
            ix = x * call.stride_w - call.pad_left + kx * call.dilation_w
            if iy < 0 or iy >= call.in_h or ix < 0 or ix >= call.in_w:
                walk(memory, target, 2 * depth, 1, 1, call.zero_gap, 0)
            else:
                source = call.input + ((iy - call.first_input_row) * call.in_w + ix) * depth
                if depth >= 4:
                    walk_in(memory, inputs, source, depth, 4, 0, call.copy_gap, 1)
                    walk_in(memory, columns, target, 2 * depth, 4, 1, call.copy_gap, 1)
                else:
                    walk(memory, source, depth, 1, 0, call.copy_gap, 1)
                    walk(memory, target, 2 * depth, 2, 1, call.copy_gap, 1)
            target += 2 * depth


@native
def conv(memory: MemoryState, call: CountedCall) -> None:
    """im2col of two pixels, then pairs of output channels against the two columns."""
    window = call.kernel_h * call.kernel_w * call.in_c
    channels = call.out_c
    pixels = call.rows * call.out_w
    for x in range(0, pixels, 2):
        n = min(2, pixels - x)
        for i in range(n):
            y = call.first_row + (x + i) // call.out_w
            column(memory, call, y, (x + i) % call.out_w, call.scratch + i * 2 * window)
        for channel in range(0, channels, 2):
            rows = min(2, channels - channel)
            for k in range(0, window, TURN):
                part = min(TURN, window - k)
                size = 4 if part >= 4 else 1
                for i in range(rows):
                    walk(memory, call.filter + (channel + i) * window + k, part, size, 0, call.block_gap, 1)
                for i in range(n):
                    walk(memory, call.scratch + 2 * (i * window + k), 2 * part, 4, 0, call.block_gap, 1)
            parameters(memory, call, channel, rows)
            for i in range(n):
                walk(memory, call.output + (x + i) * channels + channel, rows, 1, 1, call.output_gap, 0)


@native
def taps_of_column(memory: MemoryState, call: CountedCall, filters: int, columns: int, channel: int, n: int) -> None:
    """``n`` channels from ``c`` on down the taps; ``filters`` and ``columns``: range records, -1 where uncached."""
    channels, gap = call.out_c, call.block_gap
    if filters >= 0 and columns >= 0:
        due = 0
        for t in range(call.kernel_h * call.kernel_w):
            hints = Words(call.hints, t * 4 & HINTS - 1)
            due = read_held(memory, hints, filters, call.filter + t * channels + channel, n, 4, gap, due)
            due = read_held(
                memory, Words(hints, 2), columns, call.scratch + 2 * (t * channels + channel), 2 * n, 4, gap, due
            )
        memory.now += due
        return
    filters, columns = find(memory, call.filter), find(memory, call.scratch)
    for t in range(call.kernel_h * call.kernel_w):
        walk_in(memory, filters, call.filter + t * channels + channel, n, 4, 0, gap, 1)
        walk_in(memory, columns, call.scratch + 2 * (t * channels + channel), 2 * n, 4, 0, gap, 1)


@native
def depthwise(memory: MemoryState, call: CountedCall) -> None:
    """im2col of a pixel over all channels, then four channels at a time down the taps."""
    channels = call.out_c
    bytes_ = call.kernel_h * call.kernel_w * channels
    filters, columns = cached_range(memory, call.filter, bytes_), cached_range(memory, call.scratch, 2 * bytes_)
    for pixel in range(call.rows * call.out_w):
        column(memory, call, call.first_row + pixel // call.out_w, pixel % call.out_w, call.scratch)
        for channel in range(0, channels, 4):
            n = min(4, channels - channel)
            taps_of_column(memory, call, filters, columns, channel, n)
            parameters(memory, call, channel, n)
            walk(memory, call.output + pixel * channels + channel, n, 1, 1, call.output_gap, 0)


@native
def taps_of_pixel(
    memory: MemoryState, call: CountedCall, filters: int, inputs: int, y: int, x: int, channel: int
) -> None:
    """Input and weights tap by tap for up to four channels from ``c`` on; ``filters`` is -1 where they are uncached,
    ``inputs`` where they are not in tightly coupled memory."""
    channels, depth, gap = call.out_c, call.in_c, call.block_gap
    near_weights, near_input = find(memory, call.filter), find(memory, call.input)
    n = min(4, channels - channel)
    due = 0
    for ky in range(call.kernel_h):
        iy = y * call.stride_h - call.pad_top + ky * call.dilation_h
        if iy < 0 or iy >= call.in_h:
            continue
        for kx in range(call.kernel_w):
            ix = x * call.stride_w - call.pad_left + kx * call.dilation_w
            if 0 <= ix < call.in_w:
                weights = call.filter + (ky * call.kernel_w + kx) * channels + channel
                if filters >= 0 and inputs >= 0:
                    due += read_coupled(memory, inputs, 1, 4, gap)
                    hints = Words(call.hints, (ky * call.kernel_w + kx) * 2 & HINTS - 1)
                    due = read_held(memory, hints, filters, weights, n, 4, gap, due)
                else:
                    source = call.input + ((iy - call.first_input_row) * call.in_w + ix) * depth
                    walk_in(memory, near_input, source + channel * depth // channels, n, 4, 0, gap, 1)
                    walk_in(memory, near_weights, weights, n, 4, 0, gap, 1)
    memory.now += due


@native
def depthwise_direct(memory: MemoryState, call: CountedCall) -> None:
    """No im2col: four channels at a time, input and weights tap by tap (3x3, and any multiplier)."""
    channels = call.out_c
    filters = cached_range(memory, call.filter, call.kernel_h * call.kernel_w * channels)
    inputs = coupled_range(memory, call.input, call.input_size)
    for pixel in range(call.rows * call.out_w):
        y, x = call.first_row + pixel // call.out_w, pixel % call.out_w
        for channel in range(0, channels, 4):
            n = min(4, channels - channel)
            taps_of_pixel(memory, call, filters, inputs, y, x, channel)
            parameters(memory, call, channel, n)
            walk(memory, call.output + pixel * channels + channel, n, 1, 1, call.output_gap, 0)


@native
def fully_connected(memory: MemoryState, call: CountedCall) -> None:
    """Two rows of weights against the input vector at a time."""
    depth = call.in_c
    for image in range(call.rows * call.out_w):
        for channel in range(0, call.out_c, 2):
            rows = min(2, call.out_c - channel)
            for k in range(0, depth, TURN):
                part = min(TURN, depth - k)
                for i in range(rows):
                    walk(memory, call.filter + (channel + i) * depth + k, part, 4, 0, call.block_gap, 1)
                walk(memory, call.input + image * depth + k, part, 4, 0, call.block_gap, 1)
            parameters(memory, call, channel, rows)
            walk(memory, call.output + image * call.out_c + channel, rows, 1, 1, call.output_gap, 0)


@native
def pool(memory: MemoryState, call: CountedCall) -> None:
    """Each output pixel reads its window channel by channel into 32-bit sums, then scales them."""
    depth = call.in_c
    for pixel in range(call.rows * call.out_w):
        y, x = call.first_row + pixel // call.out_w, pixel % call.out_w
        for ky in range(call.kernel_h):
            iy = y * call.stride_h - call.pad_top + ky * call.dilation_h
            for kx in range(call.kernel_w):
                ix = x * call.stride_w - call.pad_left + kx * call.dilation_w
                if 0 <= iy < call.in_h and 0 <= ix < call.in_w:
                    walk(
                        memory,
                        call.input + ((iy - call.first_input_row) * call.in_w + ix) * depth,
                        depth,
                        1,
                        0,
                        call.block_gap,
                        1,
                    )
                    if call.scratch >= 0:
                        walk(memory, call.scratch, 4 * depth, 4, 0, call.block_gap, 1)
                        walk(memory, call.scratch, 4 * depth, 4, 1, call.block_gap, 1)
        walk(memory, call.output + pixel * depth, depth, 1, 1, call.output_gap, 0)


@native
def pad(memory: MemoryState, call: CountedCall) -> None:
    """Byte by byte: an input's row read and written, padding written.

    Not modelled: how many of the padded channels are in front; the geometry does not have it, all are written at the
    end.
    """
    channels, source, target = call.out_c, call.input, call.output
    depth = min(call.in_c, channels)
    for pixel in range(call.rows * call.out_w):
        y, x = call.first_row + pixel // call.out_w - call.pad_top, pixel % call.out_w - call.pad_left
        if 0 <= y < call.in_h and 0 <= x < call.in_w:
            for k in range(0, depth, TURN):
                walk(memory, source + k, min(TURN, depth - k), 1, 0, call.copy_gap, 1)
                walk(memory, target + k, min(TURN, depth - k), 1, 1, call.copy_gap, 1)
            if channels > depth:
                walk(memory, target + depth, channels - depth, 1, 1, call.zero_gap, 0)
            source += call.in_c
        else:
            walk(memory, target, channels, 1, 1, call.zero_gap, 0)
        target += channels


@native
def sequential(memory: MemoryState, call: CountedCall) -> None:
    """Inputs read once and outputs written once, in step, a word at a time."""
    longest = max(call.input_size, call.second_size, call.output_size)
    for k in range(0, longest, TURN):
        if k < call.input_size:
            walk(memory, call.input + k, min(TURN, call.input_size - k), 4, 0, call.block_gap, 1)
        if k < call.second_size:
            walk(memory, call.second_input + k, min(TURN, call.second_size - k), 4, 0, call.block_gap, 1)
        if k < call.output_size:
            walk(memory, call.output + k, min(TURN, call.output_size - k), 4, 1, call.block_gap, 1)
