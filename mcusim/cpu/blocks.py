"""Native accounting of basic blocks: what is charged when one is left, and when the next is entered.

A block's static cycles come from the pipeline model; what only running shows is added here: branch refill or
misprediction, fetch stalls, results still in flight at the border of two blocks. Stops happen between leaving one block
and entering the next, so a run cut anywhere goes on as if it had not been cut.

Left out: instructions issued in one cycle with a predicted branch's target (Cortex-M7), flags in flight over a border.
"""

from __future__ import annotations

from typing import Any

from mcusim.cpu import state as C
from mcusim.cpu.branch import branch_cycles
from mcusim.cpu.cortex_m4 import REFILL
from mcusim.memory import core_port
from mcusim.memory import layout as L
from mcusim.memory.native import native

State = Any

MULTIPLIER = 0x9E3779B1  # Knuth's multiplicative hashing: 2**32 over the golden ratio


@native
def slot_of(h: State, address: int) -> int:
    """Where block ``address`` stands, or would stand, in the hash table: ``[mask, (address, index) ...]``."""
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
        if calls[at] == key:
            return at
        if calls[at] < 0:
            calls[at] = key
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
    c[frame] = back
    c[frame + 1] = edge_of(calls, (caller << 32) | callee)
    c[frame + 2] = s[L.NOW]
    c[C.CALL_DEPTH] = depth + 1


@native
def leave_call(c: State, s: State, calls: State, address: int) -> None:
    """Pop the frame that returns to ``address``, and those above it that never returned; none: not a return."""
    depth = c[C.CALL_DEPTH]
    while depth > 0:
        depth -= 1
        if c[C.SHADOW + depth * C.SHADOW_ENTRY] == address:
            for k in range(depth, c[C.CALL_DEPTH]):
                frame = C.SHADOW + k * C.SHADOW_ENTRY
                edge = c[frame + 1]
                if edge > 0:
                    calls[edge + 1] += 1
                    calls[edge + 2] += s[L.NOW] - c[frame + 2]
            c[C.CALL_DEPTH] = depth
            return


@native
def branch(c: State, s: State, t: State, p: int, b: State, address: int) -> None:
    """Charge how the block with record ``p`` ended, now that the next one's address is known."""
    taken = 0 if address == t[p + C.FALL] else 1
    if t[p + C.KIND] == C.FALLS:
        return
    if c[C.ISA] == 4:
        lost = taken * REFILL
        if t[p + C.KIND] == C.CONDITIONAL or taken:
            b[0] += 1
            b[1] += taken
    else:
        lost = branch_cycles(b, t[p + C.LAST_PC], t[p + C.KIND], taken, address, t[p + C.FALL], t[p + C.EARLY])
    t[p + C.BRANCH_TICKS] += lost * L.TICK
    s[L.NOW] += lost * L.TICK
    c[C.TAKEN] = taken
    if taken:
        at = c[C.RING_AT]
        c[C.RING + 2 * at] = t[p + C.LAST_PC]
        c[C.RING + 2 * at + 1] = address
        c[C.RING_AT] = (at + 1) & (C.RING_SIZE - 1)


@native
def leave(c: State, s: State, t: State, b: State, calls: State, address: int) -> None:
    """Close the block that ran, control going to ``address``."""
    p = c[C.PREVIOUS]
    if p < 0:
        return
    c[C.PREVIOUS] = -1
    s[L.NOW] += t[p + C.TICKS] - c[C.CONSUMED]
    c[C.READY_BASE] = s[L.NOW]
    if c[C.CURSOR] != c[C.CURSOR_END] and t[p + C.FLAGS] & C.CONDITIONAL_ACCESS == 0:
        c[C.LOST] += 1
    c[C.TAKEN] = 0
    branch(c, s, t, p, b, address)
    kind = t[p + C.KIND]
    if c[C.TAKEN] and kind >= C.CALL:
        if kind <= C.INDIRECT_CALL:
            enter_call(c, s, calls, p // C.BLOCK, address, t[p + C.FALL])
        elif kind <= C.INDIRECT:
            leave_call(c, s, calls, address)


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
def enter(c: State, s: State, t: State, i: int, last: int) -> None:
    """Open block record ``i``; ``last`` is the record left before it, or -1."""
    t[i + C.RUNS] += 1
    c[C.INSTRUCTIONS] += t[i + C.COUNT_OF]
    c[C.BLOCKS_RUN] += 1
    stall = core_port.fetch_while(s, t[i + C.ADDRESS], t[i + C.SIZE], t[i + C.TICKS])
    t[i + C.FETCH_TICKS] += stall
    if c[C.TAKEN] and t[i + C.FLAGS] & C.WIDE_ENTRY:
        s[L.NOW] += L.TICK
        t[i + C.CARRY_TICKS] += L.TICK
    if last >= 0 and t[last + C.READY_MASK] & t[i + C.NEEDS_MASK]:
        carry(c, s, t, last, i)
    c[C.PREVIOUS] = i
    c[C.ENTERED] = i
    c[C.CONSUMED] = 0
    c[C.CURSOR] = t[i + C.FIRST]
    c[C.CURSOR_END] = t[i + C.END]
    c[C.LAST_AT] = -1
