"""The access streams of each kernel's loop nest, native: what the loops load and store, in their order.

Every function takes a :class:`CountedCall` and replays one kernel call on
:func:`mcusim.memory.ports.replay.walk`. Streams that alternate inside an inner loop are replayed in turns of 32 bytes
and marked as interleaved. A stream's gap is ticks of core work per access in a loop level, so that memories see the
core's pace.

Sources: CMSIS-NN 5.8.0 (``arm_nn_mat_mult_nt_t_s8``, ``arm_convolve_s8``, ``arm_depthwise_conv_s8_opt``,
``arm_depthwise_conv_3x3_s8``, ``arm_nn_vec_mat_mult_t_s8``, ``arm_elementwise_add_s8``, ``arm_avgpool_s8``) and TFLM of
2021 (``reference_ops::PadImpl``). Not modelled: loads and stores of the stack (they hit zero-wait memory on every
machine here and are in the compute cycles).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated

import numpy as np

from mcusim.memory.ports.replay import LINES_HINTED, cached_range, coupled_range, read_coupled, read_held, walk, walk_in
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AccessStream, MemoryState
from mcusim.native.functions import native
from mcusim.native.structs import POINTER, Array, Struct, Words, offset_of

HINTS, OPERAND_HINTS, TURN = 256, 6, 32


class CountedCall(Struct, root=True):
    """The memory that it plays on; addresses of the operands (-1: none), shapes, sizes in bytes; the streams that its
    loops are made of (:data:`STREAMS`)."""

    memory: Annotated[MemoryState, POINTER]
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
    weights: AccessStream
    weight_bytes: AccessStream
    inputs: AccessStream
    input_bytes: AccessStream
    columns: AccessStream
    rest: AccessStream
    filter_sums: AccessStream
    copied: AccessStream
    copied_bytes: AccessStream
    copies: AccessStream
    copied_halves: AccessStream
    byte_copies: AccessStream
    zeros: AccessStream
    sums: AccessStream
    outputs: AccessStream
    output_words: AccessStream
    biases: AccessStream
    scales: AccessStream
    # offsets of the cache's lines that had weights and columns, and bias, multiplier and shift
    hints: Annotated[Words, HINTS + LINES_HINTED]
    operand_hints: Annotated[Words, OPERAND_HINTS + LINES_HINTED]


STREAMS = {  # bytes, stores, whose gap, whether others come in between
    "weights": (4, 0, "block", 1),
    "weight_bytes": (1, 0, "block", 1),
    "inputs": (4, 0, "block", 1),
    "input_bytes": (1, 0, "block", 1),
    "columns": (4, 0, "block", 1),
    "rest": (1, 0, "rest", 1),
    "filter_sums": (1, 0, "sum", 1),
    "copied": (4, 0, "copy", 1),
    "copied_bytes": (1, 0, "copy", 1),
    "copies": (4, 1, "copy", 1),
    "copied_halves": (2, 1, "copy", 1),
    "byte_copies": (1, 1, "copy", 1),
    "zeros": (1, 1, "zero", 0),
    "sums": (4, 1, "block", 1),
    "outputs": (1, 1, "output", 0),
    "output_words": (4, 1, "block", 1),
    "biases": (4, 0, "", 0),
    "scales": (4, 0, "output", 0),
}


_FIRST, _LAST = (offset_of(getattr(CountedCall, name)) for name in ("weights", "scales"))
_GAPS = slice(_FIRST + offset_of(AccessStream.gap), _LAST + AccessStream.WORDS, AccessStream.WORDS)


@cache
def _empty() -> Array:
    """The words of a call with the streams of :data:`STREAMS`, all else -1."""
    call = CountedCall(np.full(CountedCall.WORDS, -1, np.int64))
    for name, (size, write, _, interleaved) in STREAMS.items():
        stream: AccessStream = getattr(call, name)
        stream.size, stream.write, stream.interleaved = size, write, interleaved
    return call.array


def empty_call() -> CountedCall:
    """A call of which nothing is known but its streams."""
    return CountedCall(_empty().copy())


def set_gaps(call: CountedCall, gaps: Mapping[str, int]) -> None:
    """So many ticks of work an access in each part of the nest."""
    call.array[_GAPS] = [gaps.get(part, 0) for _, _, part, _ in STREAMS.values()]


@native
def parameter(memory: MemoryState, stream: AccessStream, hints: Words, array: int, n: int) -> None:
    """``n`` words of an operand that has one for each channel (negative: there is none)."""
    if array < 0:
        return
    stream.range = cached_range(memory, array, 4 * n)
    if stream.range >= 0:
        read_held(memory, stream, hints, array, 4 * n)
    else:
        walk(memory, stream, array, 4 * n)


@native
def parameters(call: CountedCall, channel: int, n: int) -> None:
    """Bias, multiplier and shift of ``n`` channels, as the requantisation reads them."""
    memory, first, hints = call.memory, 4 * channel, call.operand_hints
    parameter(memory, call.biases, Words(hints, 0), call.bias + first if call.bias >= 0 else -1, n)
    parameter(memory, call.scales, Words(hints, 2), call.multiplier + first if call.multiplier >= 0 else -1, n)
    parameter(memory, call.scales, Words(hints, 4), call.shift + first if call.shift >= 0 else -1, n)


@native
def block_of_pair(call: CountedCall, weights: int, rows: int, first: int, n: int) -> None:
    """Weights of ``rows`` channels against ``n`` pixels, 16 of their depth at a time."""
    memory, depth = call.memory, call.in_c
    block = depth // 16 * 16
    call.weights.range, call.inputs.range = find(memory, call.filter), find(memory, call.input)
    for k in range(0, block, TURN):
        part = min(TURN, block - k)
        for i in range(rows):
            walk_in(memory, call.weights, weights + i * depth + k, part)
        for i in range(n):
            walk_in(memory, call.inputs, first + i * depth + k, part)


@native
def block_of_pair_coupled(call: CountedCall, weights: int, rows: int, n: int) -> None:
    """:func:`block_of_pair` of cached weights and pixels in tightly coupled memory, in fewer steps."""
    memory, depth = call.memory, call.in_c
    block = depth // 16 * 16
    for k in range(0, block, TURN):
        part = min(TURN, block - k)
        for i in range(rows):
            hints = Words(call.hints, (k // TURN * 2 + i) * 2 & HINTS - 1)
            read_held(memory, call.weights, hints, weights + i * depth + k, part)
        read_coupled(memory, call.inputs, n * part // 4)


@native
def pointwise(call: CountedCall) -> None:
    """Pairs of output channels outside, pairs of pixels inside: weights of two channels against two pixels."""
    memory, depth, channels = call.memory, call.in_c, call.out_c
    pixels = call.rows * call.out_w
    block = depth // 16 * 16
    filters = cached_range(memory, call.filter, channels * depth)
    inputs = coupled_range(memory, call.input, pixels * depth)
    for channel in range(0, channels, 2):
        rows = min(2, channels - channel)
        weights = call.filter + channel * depth
        for k in range(0, depth, TURN):  # the offset's share, summed over both filters in step
            for i in range(rows):
                walk(memory, call.filter_sums, weights + i * depth + k, min(TURN, depth - k))
        for x in range(0, pixels, 2):
            n = min(2, pixels - x)
            first = call.input + x * depth
            if filters >= 0 and inputs >= 0:
                call.weights.range, call.inputs.range = filters, inputs
                block_of_pair_coupled(call, weights, rows, n)
            else:
                block_of_pair(call, weights, rows, first, n)
            if block < depth:
                for i in range(rows):
                    walk(memory, call.rest, weights + i * depth + block, depth - block)
                for i in range(n):
                    walk(memory, call.rest, first + i * depth + block, depth - block)
            parameters(call, channel, rows)
            for i in range(n):
                walk(memory, call.outputs, call.output + (x + i) * channels + channel, rows)


@native
def column(call: CountedCall, y: int, x: int, target: int) -> None:
    """im2col of one pixel into ``target``: int8 read, q15 written, padding cleared byte by byte."""
    memory, depth = call.memory, call.in_c
    call.copied.range, call.copies.range = find(memory, call.input), find(memory, call.scratch)
    for ky in range(call.kernel_h):
        iy = y * call.stride_h - call.pad_top + ky * call.dilation_h
        for kx in range(call.kernel_w):
            ix = x * call.stride_w - call.pad_left + kx * call.dilation_w
            if iy < 0 or iy >= call.in_h or ix < 0 or ix >= call.in_w:
                walk(memory, call.zeros, target, 2 * depth)
            else:
                source = call.input + ((iy - call.first_input_row) * call.in_w + ix) * depth
                if depth >= 4:
                    walk_in(memory, call.copied, source, depth)
                    walk_in(memory, call.copies, target, 2 * depth)
                else:
                    walk(memory, call.copied_bytes, source, depth)
                    walk(memory, call.copied_halves, target, 2 * depth)
            target += 2 * depth


@native
def products(call: CountedCall, channel: int, rows: int, n: int) -> None:
    """The weights of ``rows`` channels against ``n`` columns in scratch."""
    memory, window = call.memory, call.kernel_h * call.kernel_w * call.in_c
    for k in range(0, window, TURN):
        part = min(TURN, window - k)
        for i in range(rows):
            weights = call.filter + (channel + i) * window + k
            if part >= 4:
                walk(memory, call.weights, weights, part)
            else:
                walk(memory, call.weight_bytes, weights, part)
        for i in range(n):
            walk(memory, call.columns, call.scratch + 2 * (i * window + k), 2 * part)


@native
def conv(call: CountedCall) -> None:
    """im2col of two pixels, then pairs of output channels against the two columns."""
    window = call.kernel_h * call.kernel_w * call.in_c
    channels = call.out_c
    pixels = call.rows * call.out_w
    for x in range(0, pixels, 2):
        n = min(2, pixels - x)
        for i in range(n):
            y = call.first_row + (x + i) // call.out_w
            column(call, y, (x + i) % call.out_w, call.scratch + i * 2 * window)
        for channel in range(0, channels, 2):
            rows = min(2, channels - channel)
            products(call, channel, rows, n)
            parameters(call, channel, rows)
            for i in range(n):
                walk(call.memory, call.outputs, call.output + (x + i) * channels + channel, rows)


@native
def taps_of_column(call: CountedCall, held: int, channel: int, n: int) -> None:
    """``n`` channels from ``channel`` on down the taps; ``held``: the ranges of weights and columns are cached."""
    memory, channels = call.memory, call.out_c
    for t in range(call.kernel_h * call.kernel_w):
        first = t * channels + channel
        if held:
            hints = Words(call.hints, t * 4 & HINTS - 1)
            read_held(memory, call.weights, hints, call.filter + first, n)
            read_held(memory, call.columns, Words(hints, 2), call.scratch + 2 * first, 2 * n)
        else:
            walk_in(memory, call.weights, call.filter + first, n)
            walk_in(memory, call.columns, call.scratch + 2 * first, 2 * n)


@native
def depthwise(call: CountedCall) -> None:
    """im2col of a pixel over all channels, then four channels at a time down the taps."""
    memory, channels = call.memory, call.out_c
    size = call.kernel_h * call.kernel_w * channels
    filters, columns = cached_range(memory, call.filter, size), cached_range(memory, call.scratch, 2 * size)
    held = 1 if filters >= 0 and columns >= 0 else 0
    call.weights.range = filters if held else find(memory, call.filter)
    call.columns.range = columns if held else find(memory, call.scratch)
    for pixel in range(call.rows * call.out_w):
        column(call, call.first_row + pixel // call.out_w, pixel % call.out_w, call.scratch)
        for channel in range(0, channels, 4):
            n = min(4, channels - channel)
            taps_of_column(call, held, channel, n)
            parameters(call, channel, n)
            walk(memory, call.outputs, call.output + pixel * channels + channel, n)


@native
def taps_of_pixel(call: CountedCall, held: int, pixel: int, channel: int) -> None:
    """Input and weights tap by tap for up to four channels from ``channel`` on; ``held``: the weights are cached, the
    input is in tightly coupled memory."""
    memory, channels, depth = call.memory, call.out_c, call.in_c
    y, x = call.first_row + pixel // call.out_w, pixel % call.out_w
    n = min(4, channels - channel)
    for ky in range(call.kernel_h):
        iy = y * call.stride_h - call.pad_top + ky * call.dilation_h
        if iy < 0 or iy >= call.in_h:
            continue
        for kx in range(call.kernel_w):
            ix = x * call.stride_w - call.pad_left + kx * call.dilation_w
            if 0 <= ix < call.in_w:
                tap = ky * call.kernel_w + kx
                weights = call.filter + tap * channels + channel
                if held:
                    read_coupled(memory, call.inputs, 1)
                    read_held(memory, call.weights, Words(call.hints, tap * 2 & HINTS - 1), weights, n)
                else:
                    source = call.input + ((iy - call.first_input_row) * call.in_w + ix) * depth
                    walk_in(memory, call.inputs, source + channel * depth // channels, n)
                    walk_in(memory, call.weights, weights, n)


@native
def depthwise_direct(call: CountedCall) -> None:
    """No im2col: four channels at a time, input and weights tap by tap (3x3, and any multiplier)."""
    memory, channels = call.memory, call.out_c
    filters = cached_range(memory, call.filter, call.kernel_h * call.kernel_w * channels)
    inputs = coupled_range(memory, call.input, call.input_size)
    held = 1 if filters >= 0 and inputs >= 0 else 0
    call.weights.range = filters if held else find(memory, call.filter)
    call.inputs.range = inputs if held else find(memory, call.input)
    for pixel in range(call.rows * call.out_w):
        for channel in range(0, channels, 4):
            n = min(4, channels - channel)
            taps_of_pixel(call, held, pixel, channel)
            parameters(call, channel, n)
            walk(memory, call.outputs, call.output + pixel * channels + channel, n)


@native
def fully_connected(call: CountedCall) -> None:
    """Two rows of weights against the input vector at a time."""
    memory, depth = call.memory, call.in_c
    for image in range(call.rows * call.out_w):
        for channel in range(0, call.out_c, 2):
            rows = min(2, call.out_c - channel)
            for k in range(0, depth, TURN):
                part = min(TURN, depth - k)
                for i in range(rows):
                    walk(memory, call.weights, call.filter + (channel + i) * depth + k, part)
                walk(memory, call.inputs, call.input + image * depth + k, part)
            parameters(call, channel, rows)
            walk(memory, call.outputs, call.output + image * call.out_c + channel, rows)


@native
def pool(call: CountedCall) -> None:
    """Each output pixel reads its window channel by channel into 32-bit sums, then scales them."""
    memory, depth = call.memory, call.in_c
    for pixel in range(call.rows * call.out_w):
        y, x = call.first_row + pixel // call.out_w, pixel % call.out_w
        for ky in range(call.kernel_h):
            iy = y * call.stride_h - call.pad_top + ky * call.dilation_h
            for kx in range(call.kernel_w):
                ix = x * call.stride_w - call.pad_left + kx * call.dilation_w
                if 0 <= iy < call.in_h and 0 <= ix < call.in_w:
                    source = call.input + ((iy - call.first_input_row) * call.in_w + ix) * depth
                    walk(memory, call.input_bytes, source, depth)
                    if call.scratch >= 0:
                        walk(memory, call.columns, call.scratch, 4 * depth)
                        walk(memory, call.sums, call.scratch, 4 * depth)
        walk(memory, call.outputs, call.output + pixel * depth, depth)


@native
def pad(call: CountedCall) -> None:
    """Byte by byte: an input's row read and written, padding written.

    Not modelled: how many of the padded channels are in front; the geometry does not have it, all are written at the
    end.
    """
    memory, channels, source, target = call.memory, call.out_c, call.input, call.output
    depth = min(call.in_c, channels)
    for pixel in range(call.rows * call.out_w):
        y, x = call.first_row + pixel // call.out_w - call.pad_top, pixel % call.out_w - call.pad_left
        if 0 <= y < call.in_h and 0 <= x < call.in_w:
            for k in range(0, depth, TURN):
                walk(memory, call.copied_bytes, source + k, min(TURN, depth - k))
                walk(memory, call.byte_copies, target + k, min(TURN, depth - k))
            if channels > depth:
                walk(memory, call.zeros, target + depth, channels - depth)
            source += call.in_c
        else:
            walk(memory, call.zeros, target, channels)
        target += channels


@native
def sequential(call: CountedCall) -> None:
    """Inputs read once and outputs written once, in step, a word at a time."""
    memory = call.memory
    longest = max(call.input_size, call.second_size, call.output_size)
    for k in range(0, longest, TURN):
        if k < call.input_size:
            walk(memory, call.inputs, call.input + k, min(TURN, call.input_size - k))
        if k < call.second_size:
            walk(memory, call.inputs, call.second_input + k, min(TURN, call.second_size - k))
        if k < call.output_size:
            walk(memory, call.output_words, call.output + k, min(TURN, call.output_size - k))
