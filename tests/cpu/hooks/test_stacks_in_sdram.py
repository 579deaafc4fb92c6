"""An exception's frame on a stack in SDRAM costs what its accesses cost there, and 12 and 10 cycles as on any."""

from __future__ import annotations

import pytest

from mcusim.cpu.system import exception_layout as X
from mcusim.memory.ports import core_data
from mcusim.memory.state_layout import TICK, AddressRange
from tests.support.programs.exception_code import ISAS, MACHINES, PENDSV, STACK, prepared

MAIN = "ldr r0, [r10]; str r0, [r8], #4; str r7, [r11]; isb; ldr r0, [r10]; str r0, [r8], #4; bx lr"
HANDLER = "adds r5, #1; bx lr"


def entry_and_return(isa: str, stack: int) -> list[int]:
    """Ticks of both; each is that of the accesses alone, made on a memory that nobody has used, and of the core."""
    emulator, other = (prepared(isa, MAIN, {14: HANDLER}, r7=PENDSV, sp=stack) for _ in range(2))
    assert emulator.run(1000).kind == "returned"
    log = [emulator.interrupts.state.log[i] for i in range(4)]
    assert [entry.what & 15 for entry in log] == [X.PUSHED, X.BEGUN, X.ENDED, X.POPPED]
    pushed, begun, ended, popped = (entry.time for entry in log)
    frame, s, memory = log[0].first, other.memory.state, []
    for start, access in ((pushed, core_data.store), (ended, core_data.load)):
        s.now = start
        stalls = 0
        for address in range(frame, frame + 32, 4):
            stalls += access(s, AddressRange(s, core_data.find(s, address)), address, 4)
            s.now += TICK
        memory.append(stalls)
    taken = [begun - pushed, popped - ended]
    assert taken == [12 * TICK + memory[0], 10 * TICK + memory[1]]
    return taken


@pytest.mark.parametrize("isa", ISAS)
def test_a_frame_in_sdram_costs_more_by_its_accesses(isa: str) -> None:
    far = entry_and_return(isa, MACHINES[isa][0].memory["sdram"].base + 0x2000)
    near = entry_and_return(isa, STACK)
    assert near == [12 * TICK, 10 * TICK]
    assert far[0] >= near[0] and far[1] > near[1] + 8 * TICK  # a push is posted to the write FIFO or the cache
