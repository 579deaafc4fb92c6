"""What a loop nest is called with, and what it counts: a kernel call of a profile that was fitted to a compiled set."""

from __future__ import annotations

from typing import Annotated

from mcusim.memory.state_layout import MemoryState
from mcusim.model.strided_copy import AXES
from mcusim.native.structs import POINTER, Struct, Structs

LEVELS = 40  # the most a nest may have


class NestLevel(Struct):
    """How often it ran, its ticks, ticks of waiting for code, words that it reads of the call structure, and where the
    first of them is listed (:class:`ListedWord`), in words from the call's begin."""

    count: int
    cost: int
    fetch: int
    reads: int
    listed: int


class ListedWord(Struct):
    """A word of the call structure: its offset, reads each time the level runs, and those to come, in 1 / ONE."""

    offset_in_call: int
    rate: int
    owed: int


class ListedWords(Struct):
    """One behind another."""

    records: Annotated[Structs[ListedWord], 0]


class NestOperand(Struct):
    """Of an input."""

    address: int
    size: int


class PaddedAxis(Struct):
    """Elements of an axis that a PAD goes over: before the input, of the input, of the output."""

    before: int
    inside: int
    size: int


class NestCall(Struct, root=True):
    """The memory that it plays on; addresses of the operands (0: none), shapes, sizes in bytes; the levels; behind it
    the listed words."""

    memory: Annotated[MemoryState, POINTER]
    input: int
    second_input: int
    filter: int
    output: int
    bias: int
    multiplier: int
    shift: int
    scratch: int
    structure: int  # where the call structure is
    batch: int
    in_h: int
    in_w: int
    in_c: int
    filter_c: int  # of a convolution in groups a part of in_c
    rows: int
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
    depth_multiplier: int
    slow_channels: int  # of the output, outside of the kernel's quick way
    output_elements: int
    input_size: int
    second_size: int
    output_size: int
    bytewise: int  # memset and memcpy go byte by byte
    pieces: int
    plays: int  # accesses are made on the memory
    levels: Annotated[Structs[NestLevel], LEVELS]
    later: int  # ticks of a level still to come
    stalled: int  # ticks since the last level
    waited: int  # ticks for code, in all
    splits_words: int  # words off their boundary are split
    element: int  # bytes of an activation
    dot_level: int  # of a product in a row of them, where a nest has several
    weight: int  # bytes of an element of the filter; of the input where elements are compared
    # the first unaligned access to Device memory is noted: its address (0: none)
    seeks_fault: int
    fault_address: int
    fault_size: int
    fault_write: int
    # the level of a copy, and those of its loops (nest.copy); elements of a column (of TinyEngine's)
    copy_level: int
    copy_loops: int
    column_depth: int
    input_count: int
    axes: Annotated[Structs[PaddedAxis], AXES]  # of a PAD, outermost first
    inputs: Annotated[Structs[NestOperand], 0]
