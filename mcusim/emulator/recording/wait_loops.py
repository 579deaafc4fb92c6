"""Loops in which a program waits for memory to change: for a handler's variable, or a flag of a peripheral.

A loop is one when nothing that it computes goes into its next round: it stores nothing but what it pushes, and reads no
register that it has written the round before. Not modelled: loops that count their rounds (a time-out of their own),
and rounds of more than six taken branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcusim.cpu.decode.instruction import LR, PC, SP, Instruction, Kind
from mcusim.cpu.state_layout import RING_SIZE

if TYPE_CHECKING:
    from mcusim.cpu.hooks.block_tables import CodeBlock
    from mcusim.emulator.core_state import GuestCore

LONGEST = 6  # branches of a round
NEAR = 24  # instructions from a WFI to the branch back
_NOT_CARRIED = ~(1 << SP | 1 << LR | 1 << PC)


@dataclass(frozen=True, slots=True)
class WaitLoop:
    """``blocks`` of a round, numbers of the tables; ``exits``: the addresses that it is left to."""

    blocks: tuple[int, ...]
    exits: tuple[int, ...]


def spinning_in(core: GuestCore, known: Iterable[WaitLoop] = ()) -> WaitLoop | None:
    """The loop that the last taken branches go around in, if it is one that waits; ``known`` ones come first."""
    ring = _ring(core)
    for length in range(1, LONGEST + 1):
        rounds = [ring[i * length : (i + 1) * length] for i in range(max(3, -(-4 // length)))]
        if len(rounds[-1]) == length and ring[0][1] and all(turn == rounds[0] for turn in rounds):
            return _loop(core, [*reversed(rounds[0])], known)
    return None


def loop_around(core: GuestCore, pc: int) -> WaitLoop | None:
    """The loop of the WFI that ends at ``pc``, if the code behind it branches back over it."""
    at = pc
    for _ in range(NEAR):
        block = core.code.known_at(at)
        if block is None:
            return None
        last = block.instructions[-1]
        if last.branches and last.target is not None and last.target < pc:
            inside = _range(core, last.target, last.end)
            return _waits(inside) if inside else None
        if last.branches and not _conditional(last):
            return None
        at = block.end
    return None


def _ring(core: GuestCore) -> list[tuple[int, int]]:
    """Taken branches, the newest first: from, to."""
    branches = (core.state.branch_ring[(core.state.ring_next - 1 - i) % RING_SIZE] for i in range(RING_SIZE))
    return [(branch.source, branch.target) for branch in branches]


def _loop(core: GuestCore, taken: list[tuple[int, int]], known: Iterable[WaitLoop]) -> WaitLoop | None:
    """The loop of a round of taken branches, oldest first."""
    first = core.code.known_at(taken[0][1])
    for loop in known:
        if first is not None and first.index in loop.blocks:
            return loop
    blocks: list[CodeBlock] = []
    for (_, start), (end, _) in zip(taken, [*taken[1:], taken[0]], strict=True):
        part = _range(core, start, end + 1)
        if not part:
            return None
        blocks += part
    return _waits(blocks)


def _range(core: GuestCore, start: int, end: int) -> list[CodeBlock]:
    """The blocks from ``start`` to the one that has the byte before ``end``; none where one lacks."""
    blocks: list[CodeBlock] = []
    while start < end and len(blocks) < NEAR:
        block = core.code.known_at(start)
        if block is None:
            return []
        blocks.append(block)
        start = block.end
    return blocks


def _waits(blocks: list[CodeBlock]) -> WaitLoop | None:
    """These blocks as a loop, if they compute nothing that lasts."""
    instructions = [instruction for block in blocks for instruction in block.instructions]
    if any(instruction.stores and not instruction.address_reads >> SP & 1 for instruction in instructions) or _carries(
        instructions
    ):
        return None
    inside = {block.address for block in blocks}
    exits = tuple(sorted({at for block in blocks for at in _successors(block) if at not in inside}))
    return WaitLoop(tuple(block.index for block in blocks), exits) if exits else None


def _carries(instructions: Iterable[Instruction]) -> bool:
    """Whether a round reads what the one before has written to a register."""
    read = written = 0
    for instruction in instructions:
        read |= instruction.reads & ~written
        written |= instruction.writes
    return bool(read & written & _NOT_CARRIED)


def _conditional(last: Instruction) -> bool:
    return last.conditional or last.kind is Kind.COMPARE_BRANCH


def _successors(block: CodeBlock) -> Iterator[int]:
    """Where a conditional branch at the end of ``block`` may go."""
    last = block.instructions[-1]
    if last.branches and _conditional(last):
        yield last.end
        if last.target is not None:
            yield last.target
