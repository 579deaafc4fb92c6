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

Not modelled: global history, a return stack, what a wrong path fetches, two branches in one fetch, alignment of targets
(its effect depends on the compression of the code around; [J] gives no rule), a conditional branch to the next
instruction, which looks not taken. The state array also contains the store buffer
(``mcusim.cpu.pipeline.store_buffer``), so that the hooks carry one array for what a Cortex-M7 keeps between blocks.
"""

from __future__ import annotations

from mcusim.cpu import state_layout as C
from mcusim.native.compile import State, native
from mcusim.native.records import Record

ENTRIES = 64
STORE_ENTRIES, STORE_BANKS = 4, 2

# of the BTAC; COUNTER: 0 and 1 not taken, 2 and 3 taken
entry = Record("BTAC entry")
TAG, TARGET, COUNTER = entry.fields("TAG", "TARGET", "COUNTER")
ENTRY = entry.freeze()

# the array: counters, the BTAC, of the store buffer when each entry is given back, when each bank is done, next entry
state = Record("branch state")
BRANCHES, TAKEN, MISPREDICTED = state.fields("BRANCHES", "TAKEN", "MISPREDICTED")
BTAC = state.array("BTAC", ENTRY * ENTRIES)
STORE_FREE, STORE_BANK = state.array("STORE_FREE", STORE_ENTRIES), state.array("STORE_BANK", STORE_BANKS)
STORE_NEXT = state.field("STORE_NEXT")
BRANCH_STATE = state.freeze()

STATIC_TAKEN = 1  # cycles: predicted by the decoder, not by the fetch unit
MISPREDICT, MISPREDICT_EARLY = 8, 6


@native
def reset(b: State) -> None:
    """Forget all branches and counts, and empty the store buffer."""
    for i in range(BRANCH_STATE):
        b[i] = 0
    for i in range(ENTRIES):
        b[BTAC + i * ENTRY + TAG] = -1


@native
def train(b: State, entry: int, address: int, taken: int, target: int) -> None:
    """Move the counter of ``entry`` towards what happened; a taken branch that it does not have replaces its branch."""
    if b[entry + TAG] != address:
        if taken:
            b[entry + TAG] = address
            b[entry + TARGET] = target
            b[entry + COUNTER] = 2
    elif taken:
        b[entry + TARGET] = target
        b[entry + COUNTER] = min(b[entry + COUNTER] + 1, 3)
    else:
        b[entry + COUNTER] = max(b[entry + COUNTER] - 1, 0)


@native
def branch_cycles(b: State, address: int, kind: int, taken: int, target: int, fall_through: int, early: int) -> int:
    """Cycles that a block loses by ending in the branch at ``address``; updates the predictor and the counts.

    ``kind``: how a block ends, as in ``mcusim.cpu.state_layout``. ``target``: of a direct branch its target, taken or
    not; of others where it went. ``early``: the flags were set three or more cycles before a conditional branch.
    """
    if kind == C.UNCONDITIONAL:
        taken = 1  # to the next instruction, too
    b[BRANCHES] += 1
    b[TAKEN] += taken
    direct = C.CONDITIONAL <= kind <= C.CALL
    entry = BTAC + ((address >> 1) ^ (address >> 7)) % ENTRIES * ENTRY
    lost = 0
    if b[entry + TAG] == address:
        guess = 1 if b[entry + COUNTER] >= 2 else 0
        right = guess == taken and (taken == 0 or direct or b[entry + TARGET] == target)
    else:
        guess = taken if direct else 0
        if kind == C.CONDITIONAL:
            guess = 1 if target < fall_through else 0
        right = guess == taken
        lost = STATIC_TAKEN * taken
    train(b, entry, address, taken, target)
    if right:
        return lost
    b[MISPREDICTED] += 1
    return MISPREDICT_EARLY if early and kind == C.CONDITIONAL else MISPREDICT
