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
from mcusim.cpu.hook_state import HookState
from mcusim.cpu.pipeline.branch_predictor import BranchState, branch_cycles
from mcusim.cpu.state_layout import BlockHash, BlockRecord, CallEdges, CoreState
from mcusim.memory.ports import core_data
from mcusim.memory.state_layout import TICK, MemoryState
from mcusim.native.functions import native

RETURNS_FROM = 0xF000_0000  # EXC_RETURN
MULTIPLIER = 0x9E3779B1  # Knuth's multiplicative hashing: 2**32 over the golden ratio


@native
def slot_of(table: BlockHash, address: int) -> int:
    """The slot where block ``address`` is, or would be."""
    i = (((address >> 1) * MULTIPLIER) >> 12) & table.mask
    while table.slots[i].address >= 0 and table.slots[i].address != address:
        i = (i + 1) & table.mask
    return i


@native
def edge_of(edges: CallEdges, key: int) -> int:
    """The slot of a call edge, made when it is new; -1: there is no room, further edges are not recorded."""
    i = ((key * MULTIPLIER) >> 12) & edges.mask
    for _ in range(edges.mask + 1):
        edge = edges.slots[i]
        if edge.key == key:
            return i
        if edge.key < 0:
            edge.key = key
            return i
        i = (i + 1) & edges.mask
    return -1


@native
def enter_call(hook: HookState, caller: int, callee: int, return_address: int) -> None:
    """Push a frame of the shadow call stack; ``caller``: the index of the block."""
    core = hook.core
    depth = core.call_depth
    if depth >= C.SHADOW_DEPTH:
        return
    call = core.calls[depth]
    call.return_address = return_address
    call.edge = edge_of(hook.call_edges, (caller << 32) | callee)
    call.ticks = hook.memory.now
    call.instructions = core.instructions
    core.call_depth = depth + 1


@native
def close_calls(core: CoreState, now: int, edges: CallEdges, depth: int) -> None:
    """Pop all frames but the first ``depth``, and those that these were entered from by tail calls; count them."""
    while depth > core.call_base and core.calls[depth].return_address & 1:
        depth -= 1
    for k in range(depth, core.call_depth):
        call = core.calls[k]
        if call.edge >= 0:
            edge = edges.slots[call.edge]
            edge.calls += 1
            edge.ticks += now - call.ticks
            edge.instructions += core.instructions - call.instructions
    core.call_depth = depth


@native
def leave_call(hook: HookState, address: int) -> None:
    """Pop the frame that returns to ``address``, and those above it that never returned; none: not a return.

    The return of a handler pops all of its own.
    """
    core, now = hook.core, hook.memory.now
    depth = core.call_depth
    if address >= RETURNS_FROM:
        if depth > core.call_base:
            close_calls(core, now, hook.call_edges, core.call_base)
        return
    while depth > core.call_base:
        depth -= 1
        if core.calls[depth].return_address & ~1 == address:
            close_calls(core, now, hook.call_edges, depth)
            return


@native
def tail_call(hook: HookState, caller: int, callee: int) -> None:
    """Push a frame that returns where the one below it does, and is marked for it: its lowest bit is set."""
    core = hook.core
    depth = core.call_depth
    back = core.calls[depth - 1].return_address if depth > core.call_base else 0
    enter_call(hook, caller, callee, back | 1)


@native
def lost_cycles(core: CoreState, branches: BranchState, block: BlockRecord, taken: int, address: int) -> int:
    """Cycles that the branch at the end of ``block`` costs beyond its issue."""
    if core.traits & C.PREDICTS == 0:
        branches.branches += 1
        branches.taken += taken
        return taken * (core.branch_refill - (1 if block.flags & C.FOUND_IN_DECODE else 0))
    target = block.target if block.kind == C.CONDITIONAL else address  # one not taken still has a direction
    return branch_cycles(branches, block, taken, target)


@native
def follow(hook: HookState, index: int, address: int) -> None:
    """Keep the last taken branches and the call stack. Not modelled: tail calls by a register."""
    core, block = hook.core, hook.blocks.records[index]
    branch = core.branch_ring[core.ring_next]
    core.ring_next = (core.ring_next + 1) & (C.RING_SIZE - 1)
    branch.source = block.last_pc
    branch.target = address
    if block.kind >= C.CALL:
        if block.kind <= C.INDIRECT_CALL:
            enter_call(hook, index, address, block.fall_through)
        elif block.kind <= C.INDIRECT:
            leave_call(hook, address)
    elif block.flags & C.TAIL_CALL and address == block.target:
        tail_call(hook, index, address)


@native
def leave(hook: HookState, address: int) -> None:
    """Close the block that ran, control going to ``address``; one that faulted is settled when that is explained."""
    core, memory = hook.core, hook.memory
    index = core.open_block
    if index < 0 or core.fault != C.NO_FAULT:
        return
    block = hook.blocks.records[index]
    flags = block.flags
    with_branch = core.with_branch
    taken = 0
    free = 0
    now = memory.now + block.ticks - core.consumed
    if with_branch:
        shared = min(now - memory.now, block.shares)
        block.shared_ticks += shared
        now -= shared
    if core.cursor != core.cursor_end and flags & C.CONDITIONAL_ACCESS == 0:
        core.unforeseen += 1
    core.open_block = -1
    core.ready_base = now
    if block.kind != C.FALLS:
        taken = 0 if address == block.fall_through and flags & C.ALWAYS == 0 else 1
        lost = lost_cycles(core, hook.branches, block, taken, address) * TICK
        if lost:
            block.branch_ticks += lost
            now += lost
        elif flags & (C.LEAVES_SLOT_WITH_BRANCH if with_branch else C.LEAVES_SLOT):
            free = 1
    memory.now = now
    core.branch_taken = taken
    core.slot_free = free
    if taken:
        follow(hook, index, address)


@native
def carry(core: CoreState, memory: MemoryState, last: BlockRecord, block: BlockRecord) -> None:
    """Wait for results that ``last`` left in flight and ``block`` reads early."""
    wait = 0
    for k in range(C.READIES):
        late = last.ready[k]
        if late == 0:
            break
        for m in range(C.NEEDED):
            need = block.needs[m]
            if need == 0:
                break
            if need >> 32 == late >> 32:
                ready = core.ready_base + (late & 0xFFFFFFFF)
                wait = max(wait, ready - memory.now - ((need & 0xFFFFFFFF) - 1))
    memory.now += wait
    block.carry_ticks += wait


@native
def prefetch(core: CoreState, memory: MemoryState, block: BlockRecord) -> None:
    """Wait for the first bytes of ``block``, a Cortex-M4's, as its prefetch was left; a taken branch empties that."""
    shift = (C.AFTER_BRANCH if core.branch_taken else core.prefetch_state) * C.STATE_BITS
    mask = (1 << C.STATE_BITS) - 1
    wait = (block.prefetch_costs >> shift & mask) * TICK
    memory.now += wait
    block.prefetch_ticks += wait
    core.prefetch_state = block.prefetch_leaves >> shift & mask


@native
def waits(core: CoreState, now: int) -> int:
    """Whether to stop at a block of a loop that seems to wait."""
    if now < core.wait_from:
        return 0
    if core.waits_to_pass > 0:
        core.waits_to_pass -= 1
        return 0
    return 1


@native
def enter(hook: HookState, index: int) -> None:
    """Open the block of that index."""
    core, memory, last = hook.core, hook.memory, hook.core.last_block
    block = hook.blocks.records[index]
    flags = block.flags
    block.runs += 1
    core.instructions += block.instruction_count
    stall = core_data.fetch_while(memory, block.address, block.size, block.rate)
    with_branch = 0
    if stall:
        block.fetch_ticks += stall
    elif core.slot_free and block.shares:
        with_branch = 1
    if flags & C.MOVES_STACK:
        core.stack_known = -1
    elif core.stack_known < 0:
        core.stack_known = 0
    prefetch(core, memory, block)
    if last >= 0 and hook.blocks.records[last].ready_mask & block.needs_mask:
        carry(core, memory, hook.blocks.records[last], block)
    core.open_block = index
    core.last_block = index
    core.consumed = 0
    core.with_branch = with_branch
    core.cursor = block.first_access
    core.cursor_end = block.accesses_end
