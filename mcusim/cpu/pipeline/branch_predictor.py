"""Branch prediction of the Cortex-M7: which branches cost cycles, and how many.

| rule | value | basis |
|---|---|---|
| branch target address cache (BTAC), looked up first | | [T] |
| entries | 64 | assumed, not published |
| organisation | direct mapped, full tags, target and a 2-bit counter; taken branches allocate | assumed |
| hit, taken, right target | 0 cycles: issues with the instruction at its target | [J] |
| miss: static, direct backward taken, forward not | taken and right: 1 cycle | assumed; the cycle: [J] "0 or 1" |
| direct and unconditional | never mispredicted | follows |
| register, table or loaded target | right when the BTAC has it | assumed: [T] knows no return stack |
| mispredicted | 8 cycles | [J] |
| the same, flags set three or more cycles ahead | 6 cycles | [J] |

[T] Cortex-M7 TRM 1.2.3 as quoted in stackoverflow.com/questions/60029258; the static predictor it names is that
of cores built without a BTAC, and that it also serves misses is assumed. [J] jnk0le/random, pipeline cycle test.
No source says what a return with several callers costs: [J] has none, Arm's manuals of this core that could be read
neither, and LLVM's list of cores (ARMProcessors.td) gives the Cortex-M7 no return-address stack. A run's mispredicted
branches, 8 cycles each, are therefore the most that a return stack could take off it.

Not modelled: global history, a return stack, what a wrong path fetches, two branches in one fetch, alignment of targets
(its effect depends on the compression of the code around; [J] gives no rule), a conditional branch to the next
instruction, which looks not taken. The state array also contains the store buffer
(``mcusim.cpu.pipeline.store_buffer``), so that the hooks carry one array for what a Cortex-M7 keeps between blocks.
"""

from __future__ import annotations

from typing import Annotated

from mcusim.cpu import state_layout as C
from mcusim.cpu.state_layout import BlockRecord
from mcusim.native.functions import native
from mcusim.native.structs import Struct, Structs, Words

ENTRIES = 64
STORE_ENTRIES, STORE_BANKS = 4, 2


class BtacEntry(Struct):
    """``address``: of the branch, -1: it is empty; ``counter``: 0 and 1 not taken, 2 and 3 taken."""

    address: int
    target: int
    counter: int


class BranchState(Struct, root=True):
    """Counts, the BTAC, of the store buffer when each entry is given back, when each bank is done, the next entry."""

    branches: int
    taken: int
    mispredicted: int
    btac: Annotated[Structs[BtacEntry], ENTRIES]
    store_free: Annotated[Words, STORE_ENTRIES]
    bank_done: Annotated[Words, STORE_BANKS]
    next_store: int


STATIC_TAKEN = 1  # cycles: predicted by the decoder, not by the fetch unit
MISPREDICT, MISPREDICT_EARLY = 8, 6


@native
def reset(state: BranchState) -> None:
    """Forget all branches and counts, and empty the store buffer."""
    state.branches = state.taken = state.mispredicted = state.next_store = 0
    for i in range(ENTRIES):
        entry = state.btac[i]
        entry.address, entry.target, entry.counter = -1, 0, 0
    for i in range(STORE_ENTRIES):
        state.store_free[i] = 0
    for i in range(STORE_BANKS):
        state.bank_done[i] = 0


@native
def train(entry: BtacEntry, address: int, taken: int, target: int) -> None:
    """Move the counter of ``entry`` towards what happened; a taken branch that it does not have replaces its branch."""
    if entry.address != address:
        if taken:
            entry.address = address
            entry.target = target
            entry.counter = 2
    elif taken:
        entry.target = target
        entry.counter = min(entry.counter + 1, 3)
    else:
        entry.counter = max(entry.counter - 1, 0)


@native
def branch_cycles(state: BranchState, block: BlockRecord, taken: int, target: int) -> int:
    """Cycles that ``block`` loses by ending in its branch; updates the predictor and the counts.

    ``target``: of a direct branch its target, taken or not; of others where it went.
    """
    address, kind = block.last_pc, block.kind
    if kind == C.UNCONDITIONAL:
        taken = 1  # to the next instruction, too
    state.branches += 1
    state.taken += taken
    direct = C.CONDITIONAL <= kind <= C.CALL
    entry = state.btac[((address >> 1) ^ (address >> 7)) % ENTRIES]
    lost = 0
    if entry.address == address:
        guess = 1 if entry.counter >= 2 else 0
        right = guess == taken and (taken == 0 or direct or entry.target == target)
    else:
        guess = taken if direct else 0
        if kind == C.CONDITIONAL:
            guess = 1 if target < block.fall_through else 0
        right = guess == taken
        lost = STATIC_TAKEN * taken
    train(entry, address, taken, target)
    if right:
        return lost
    state.mispredicted += 1
    return MISPREDICT_EARLY if block.flags_early and kind == C.CONDITIONAL else MISPREDICT
