"""How a kept stream is written: two words an event, and the state of a recording."""

from __future__ import annotations

from typing import Annotated

from mcusim.native.structs import POINTER, Struct, Structs, Words

# kinds of events: core work alone; a line is filled, and another one perhaps written back; accesses past the cache;
# lines of a flash that its accelerator did not hold
WORK, FILL, RUN, LINES = range(4)
# bits of an event's first word, from the lowest: kind, whether it is a store, whether other streams come in between,
# log2 of the bytes of an access, which of the ranges, how many accesses, ticks of core work with each, ticks of core
# work before it
KIND, STORE, BETWEEN, SIZE, RANGE, COUNT, GAP, DUE = 2, 1, 1, 3, 4, 12, 18, 22
STORE_AT = KIND
BETWEEN_AT = STORE_AT + STORE
SIZE_AT = BETWEEN_AT + BETWEEN
RANGE_AT = SIZE_AT + SIZE
COUNT_AT = RANGE_AT + RANGE
GAP_AT = COUNT_AT + COUNT
DUE_AT = GAP_AT + GAP
ALIKE = (1 << COUNT_AT) - 1 | (1 << GAP) - 1 << GAP_AT  # all but how many accesses, and the work before
# of its second word: the address, one more than the number of the line that is written back, and the operand
ADDRESS, DISPLACED = 32, 28
OPERAND_AT = ADDRESS + DISPLACED
NO_OPERAND, ANOTHER_OPERAND = 6, 7  # in place of its number: none, and one beyond those that there are bits for


class KeptState(Struct):
    """What is being recorded: ``events`` has room for ``most``; ``mark``: when the core's work since the last event
    began; ``filled``: a line was since the last access, and ``displaced`` was written back for it (its number, -1:
    none); ``lines``: those of a flash that the access did not find; ``stall``: of the access that is noted; ``ranges``:
    offsets of the address ranges met; ``since``: from which event on others may be added; ``failed``: something did not
    fit."""

    events: Annotated[Words, POINTER]
    count: int
    most: int
    mark: int
    filled: int
    displaced: int
    lines: int
    stall: int
    known: int
    ranges: Annotated[Words, 1 << RANGE]
    since: int
    failed: int


class KeptCall(Struct):
    """Of a call: its first event and how many they are, the address ranges they name, ticks of work behind the last
    one; hits, misses and write-backs of the data cache."""

    first: int
    count: int
    ranges: Annotated[Words, 1 << RANGE]
    tail: int
    hits: int
    misses: int
    writebacks: int


class KeptCalls(Struct):
    """Of a run, in their order."""

    records: Annotated[Structs[KeptCall], 0]


COUNTS = 6
"""Counters of a block, of those that a recording has: accesses and bytes, hits and misses of an accelerator's lines."""
