"""Native accounting of basic blocks: what is charged when one is left, and when the next is entered.

A block's static cycles come from the pipeline model; what only running shows is added here: branch refill or
misprediction, fetch stalls, results still in flight at the border of two blocks. Stops happen between leaving one block
and entering the next, so a run cut anywhere continues as if it had not been cut.

Not modelled: flags in flight over the border of two blocks; pairs of instructions, and a Cortex-M4's hidden second
cycles, across the end of a KiB of code or of some hundred instructions without a branch, where the emulator ends a
block too. A conditional branch to the very next instruction counts as not taken: which it was cannot be seen.
"""

from __future__ import annotations

from mcusim.cpu import state_layout as C
from mcusim.cpu.pipeline.branch_predictor import BRANCHES, TAKEN, branch_cycles
from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data
from mcusim.native.compile import State, native

RETURNS_FROM = 0xF000_0000  # EXC_RETURN
MULTIPLIER = 0x9E3779B1  # Knuth's multiplicative hashing: 2**32 over the golden ratio


@native
def slot_of(h: State, address: int) -> int:
    """Where block ``address`` is, or would be, in the hash table: ``[mask, (address, index) ...]``."""
    mask = h[0]
    i = (((address >> 1) * MULTIPLIER) >> 12) & mask
    while h[1 + 2 * i] >= 0 and h[1 + 2 * i] != address:
        i = (i + 1) & mask
    return 1 + 2 * i


@native
def edge_of(calls: State, key: int) -> int:
    """Offset of a call edge's record in ``[mask, (key, calls, ticks) ...]``, made when it is new."""
    mask = calls[0]
    i = ((key * MULTIPLIER) >> 12) & mask
    for _ in range(mask + 1):
        at = 1 + C.EDGE * i
        if calls[at + C.EDGE_KEY] == key:
            return at
        if calls[at + C.EDGE_KEY] < 0:
            calls[at + C.EDGE_KEY] = key
            return at
        i = (i + 1) & mask
    return -1  # full: further edges are not recorded


@native
def enter_call(c: State, s: State, calls: State, caller: int, callee: int, back: int) -> None:
    """Push a frame of the shadow call stack."""
    depth = c[C.CALL_DEPTH]
    if depth >= C.SHADOW_DEPTH:
        return
    frame = C.SHADOW + depth * C.SHADOW_ENTRY
    c[frame + C.CALL_RETURN] = back
    c[frame + C.CALL_EDGE] = edge_of(calls, (caller << 32) | callee)
    c[frame + C.CALL_TICKS] = s[L.NOW]
    c[frame + C.CALL_INSTRUCTIONS] = c[C.INSTRUCTIONS]
    c[C.CALL_DEPTH] = depth + 1


@native
def close_calls(c: State, s: State, calls: State, depth: int) -> None:
    """Pop all frames but the first ``depth``, and those that these were entered from by tail calls; count them."""
    while depth > c[C.CALL_BASE] and c[C.SHADOW + depth * C.SHADOW_ENTRY + C.CALL_RETURN] & 1:
        depth -= 1
    for k in range(depth, c[C.CALL_DEPTH]):
        frame = C.SHADOW + k * C.SHADOW_ENTRY
        edge = c[frame + C.CALL_EDGE]
        if edge > 0:
            calls[edge + C.EDGE_CALLS] += 1
            calls[edge + C.EDGE_TICKS] += s[L.NOW] - c[frame + C.CALL_TICKS]
            calls[edge + C.EDGE_INSTRUCTIONS] += c[C.INSTRUCTIONS] - c[frame + C.CALL_INSTRUCTIONS]
    c[C.CALL_DEPTH] = depth


@native
def leave_call(c: State, s: State, calls: State, address: int) -> None:
    """Pop the frame that returns to ``address``, and those above it that never returned; none: not a return.

    The return of a handler pops all of its own.
    """
    depth = c[C.CALL_DEPTH]
    if address >= RETURNS_FROM:
        if depth > c[C.CALL_BASE]:
            close_calls(c, s, calls, c[C.CALL_BASE])
        return
    while depth > c[C.CALL_BASE]:
        depth -= 1
        if c[C.SHADOW + depth * C.SHADOW_ENTRY + C.CALL_RETURN] & ~1 == address:
            close_calls(c, s, calls, depth)
            return


@native
def tail_call(c: State, s: State, calls: State, caller: int, callee: int) -> None:
    """Push a frame that returns where the one below it does, and is marked for it: its lowest bit is set."""
    depth = c[C.CALL_DEPTH]
    back = c[C.SHADOW + (depth - 1) * C.SHADOW_ENTRY + C.CALL_RETURN] if depth > c[C.CALL_BASE] else 0
    enter_call(c, s, calls, caller, callee, back | 1)


@native
def lost_cycles(c: State, t: State, p: int, b: State, taken: int, address: int) -> int:
    """Cycles that the branch at the end of record ``p`` costs beyond its issue."""
    if c[C.TRAITS] & C.PREDICTS == 0:
        b[BRANCHES] += 1
        b[TAKEN] += taken
        return taken * (c[C.REFILL] - (1 if t[p + C.FLAGS] & C.FOUND_IN_DECODE else 0))
    kind = t[p + C.KIND]
    target = t[p + C.TARGET] if kind == C.CONDITIONAL else address  # one not taken still has a direction
    return branch_cycles(b, t[p + C.LAST_PC], kind, taken, target, t[p + C.FALL], t[p + C.EARLY])


@native
def follow(c: State, s: State, t: State, p: int, kind: int, calls: State, address: int) -> None:
    """Keep the last taken branches and the call stack. Not modelled: tail calls by a register."""
    at = c[C.RING_AT]
    c[C.RING_AT] = (at + 1) & (C.RING_SIZE - 1)
    entry = C.RING + at * C.RING_ENTRY
    c[entry + C.RING_FROM] = t[p + C.LAST_PC]
    c[entry + C.RING_TO] = address
    if kind >= C.CALL:
        if kind <= C.INDIRECT_CALL:
            enter_call(c, s, calls, p // C.BLOCK, address, t[p + C.FALL])
        elif kind <= C.INDIRECT:
            leave_call(c, s, calls, address)
    elif t[p + C.FLAGS] & C.TAIL_CALL and address == t[p + C.TARGET]:
        tail_call(c, s, calls, p // C.BLOCK, address)


@native
def leave(c: State, s: State, t: State, b: State, calls: State, address: int) -> None:
    """Close the block that ran, control going to ``address``; one that faulted is settled when that is explained."""
    p = c[C.PREVIOUS]
    if p < 0 or c[C.FAULT] != C.NO_FAULT:
        return
    kind = t[p + C.KIND]
    flags = t[p + C.FLAGS]
    with_branch = c[C.WITH_BRANCH]
    taken = 0
    free = 0
    now = s[L.NOW] + t[p + C.TICKS] - c[C.CONSUMED]
    if with_branch:
        shared = min(now - s[L.NOW], t[p + C.SHARES])
        t[p + C.SHARED_TICKS] += shared
        now -= shared
    if c[C.CURSOR] != c[C.CURSOR_END] and flags & C.CONDITIONAL_ACCESS == 0:
        c[C.LOST] += 1
    c[C.PREVIOUS] = -1
    c[C.READY_BASE] = now
    if kind != C.FALLS:
        taken = 0 if address == t[p + C.FALL] and flags & C.ALWAYS == 0 else 1
        lost = lost_cycles(c, t, p, b, taken, address) * L.TICK
        if lost:
            t[p + C.BRANCH_TICKS] += lost
            now += lost
        elif flags & (C.LEAVES_SLOT_WITH_BRANCH if with_branch else C.LEAVES_SLOT):
            free = 1
    s[L.NOW] = now
    c[C.TAKEN] = taken
    c[C.SLOT_FREE] = free
    if taken:
        follow(c, s, t, p, kind, calls, address)


@native
def carry(c: State, s: State, t: State, p: int, i: int) -> None:
    """Wait for results that block ``p`` left in flight and block ``i`` reads early."""
    wait = 0
    for k in range(C.READIES):
        late = t[p + C.READY + k]
        if late == 0:
            break
        for m in range(C.NEEDED):
            need = t[i + C.NEEDS + m]
            if need == 0:
                break
            if need >> 32 == late >> 32:
                ready = c[C.READY_BASE] + (late & 0xFFFFFFFF)
                wait = max(wait, ready - s[L.NOW] - ((need & 0xFFFFFFFF) - 1))
    s[L.NOW] += wait
    t[i + C.CARRY_TICKS] += wait


@native
def prefetch(c: State, s: State, t: State, i: int) -> None:
    """Wait for the first bytes of block ``i``, a Cortex-M4's, as its prefetch was left; a taken branch empties that."""
    shift = (C.AFTER_BRANCH if c[C.TAKEN] else c[C.PREFETCHED]) * C.STATE_BITS
    mask = (1 << C.STATE_BITS) - 1
    wait = (t[i + C.PREFETCH_COSTS] >> shift & mask) * L.TICK
    s[L.NOW] += wait
    t[i + C.PREFETCH_TICKS] += wait
    c[C.PREFETCHED] = t[i + C.PREFETCH_LEAVES] >> shift & mask


@native
def waits(c: State, s: State) -> int:
    """Whether to stop at a block of a loop that seems to wait."""
    if s[L.NOW] < c[C.WAIT_FROM]:
        return 0
    if c[C.WAIT_PASS] > 0:
        c[C.WAIT_PASS] -= 1
        return 0
    return 1


@native
def enter(c: State, s: State, t: State, i: int, last: int) -> None:
    """Open block record ``i``; ``last`` is the record left before it, or -1."""
    flags = t[i + C.FLAGS]
    first, end = t[i + C.FIRST], t[i + C.END]
    t[i + C.RUNS] += 1
    c[C.INSTRUCTIONS] += t[i + C.COUNT_OF]
    stall = core_data.fetch_while(s, t[i + C.ADDRESS], t[i + C.SIZE], t[i + C.RATE])
    with_branch = 0
    if stall:
        t[i + C.FETCH_TICKS] += stall
    elif c[C.SLOT_FREE] and t[i + C.SHARES]:
        with_branch = 1
    if flags & C.MOVES_STACK:
        c[C.STACK_KNOWN] = -1
    elif c[C.STACK_KNOWN] < 0:
        c[C.STACK_KNOWN] = 0
    prefetch(c, s, t, i)
    if last >= 0 and t[last + C.READY_MASK] & t[i + C.NEEDS_MASK]:
        carry(c, s, t, last, i)
    c[C.PREVIOUS] = i
    c[C.ENTERED] = i
    c[C.CONSUMED] = 0
    c[C.WITH_BRANCH] = with_branch
    c[C.CURSOR] = first
    c[C.CURSOR_END] = end
