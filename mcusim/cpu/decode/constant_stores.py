"""Whether an instruction stores a constant, by the code before it.

Not modelled: constants that come by more than one register, from another function or from another branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcusim.cpu.decode.decoder import Decoder
from mcusim.cpu.decode.instruction import Instruction, Kind
from mcusim.image.image import Image

BEHIND = 512  # bytes of code that may branch back to before the store
CALLEE_MAY_CHANGE = 0b1_0101_0000_0000_1111  # r0 to r3, r12, lr, the flags (AAPCS)


def stores_constant(peek: Callable[[int, int], bytes | None], image: Image, pc: int) -> bool:
    """Whether the store at ``pc`` of ``image`` stores what a MOV of a constant, or a load of a literal, has put into
    its register, on every way there. ``peek`` gives bytes of memory, or None."""
    place = image.function_at(pc)
    code = place and (peek(pc - place[1], place[1] + BEHIND) or peek(pc - place[1], place[1] + 4))
    if not place or not code:
        return False
    function = Decoder().decode(code, pc - place[1])
    at = next((i for i, instruction in enumerate(function) if instruction.address == pc), None)
    return at is not None and function[at].kind is Kind.STORE and _is_constant(function, at)


def _is_constant(function: Sequence[Instruction], at: int) -> bool:
    store = function[at]
    stored = store.reads & ~store.address_reads & 0xFFFF
    for first in reversed(range(at)):
        instruction = function[first]
        changed = CALLEE_MAY_CHANGE if instruction.kind is Kind.CALL else instruction.writes
        if changed & stored:
            return (
                not instruction.conditional and _gives_constant(instruction) and not _entered(function, first + 1, at)
            )
        if (
            instruction.branches
            and not instruction.conditional
            and instruction.kind not in (Kind.CALL, Kind.COMPARE_BRANCH)
        ):
            return False  # what comes behind is entered from elsewhere
    return False


def _entered(function: Sequence[Instruction], first: int, last: int) -> bool:
    """Whether a branch outside of the instructions ``first`` to ``last`` goes to one of them."""
    inside = range(function[first].address, function[last].end)
    branches = [
        instruction for instruction in (*function[:first], *function[last:]) if instruction.kind is not Kind.CALL
    ]
    return any(branch.target in inside for branch in branches if branch.target is not None)


def _gives_constant(instruction: Instruction) -> bool:
    if instruction.kind is Kind.LOAD:
        return "[pc" in instruction.text and instruction.accesses[0].size == 4
    return instruction.mnemonic in ("mov", "movs", "movw", "mvn", "mvns") and "#" in instruction.text
