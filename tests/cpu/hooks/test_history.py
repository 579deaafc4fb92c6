"""Calls, handlers and stacks as the hooks write them down: programs whose numbers are known by hand."""

from __future__ import annotations

import mcusim
from mcusim.cpu.system.interrupts import ExceptionCount
from mcusim.emulator.emulator import Emulator
from mcusim.emulator.profile import profile
from mcusim.kernels.test_programs import FIRMWARE, program_path
from mcusim.machine import load_machine
from tests.support.programs.exception_code import PENDSV, logged, prepared

MAIN, MIDDLE, LAST = 0x200, 0x220, 0x240
TAILS = {  # push {lr}; bl MIDDLE; pop {pc}, then MIDDLE: nop; b.w LAST, then LAST: nop; nop; bx lr
    MAIN: "00b500f00df800bd",
    MIDDLE: "00bf00f00db8",
    LAST: "00bf00bf7047",
}


def calls_of(functions: tuple[int, ...]) -> dict[tuple[int, int], tuple[int, int]]:
    emulator = Emulator(load_machine("stm32f746g-disco"))
    for address, text in TAILS.items():
        emulator.write(address, bytes.fromhex(text))
    emulator.code.functions = functions
    emulator.set_stack(0x2000_4000, 0)
    emulator.call(MAIN)
    assert emulator.run().kind == "returned"
    return {(edge.site, edge.callee): (edge.calls, edge.issued) for edge in profile(emulator).calls}


def test_a_branch_to_another_function_is_a_call_that_returns_with_its_caller() -> None:
    plain = {(MAIN + 2, MIDDLE): (1, 5)}
    assert calls_of(()) == plain
    assert calls_of((MAIN, MIDDLE, LAST)) == plain | {(MIDDLE + 2, LAST): (1, 3)}


def test_calls_stand_still_while_a_handler_runs() -> None:
    """A function of 100 rounds is called; an interrupt in it adds nothing to what the call took."""
    took = []
    for at in (None, 150):
        emulator = prepared("cortex-m7", "1: subs r4, #1; bne 1b; bx lr", {16: "1: subs r4, #1; bne 1b; bx lr"}, r4=100)
        main = emulator.core["pc"] & ~1
        emulator.write(main + 0x40, bytes.fromhex("10b5" + "fff7ddff" + "10bd"))  # push {r4, lr}; bl main; pop {r4, pc}
        emulator.call(main + 0x40)
        emulator.core["r4"] = 100
        if at is not None:
            emulator.write(0xE000_E100, b"\1\0\0\0")
            emulator.at(at, lambda emulator=emulator: emulator.interrupts.pend(0))  # type: ignore[misc]
        emulator.run()
        took.append([edge.cycles for edge in profile(emulator).calls])
    assert took[0] and took[0] == took[1]


def test_depths_and_latencies_of_a_handler_within_another() -> None:
    handler = "ldr r0, [r10]; str r0, [r8], #4; str r7, [r11]; isb; ldr r0, [r10]; str r0, [r8], #4; bx lr"
    inner = "ldr r0, [r10]; str r0, [r8], #4; bx lr"
    emulator = prepared("cortex-m4", "svc #3; bx lr", {11: handler, 14: inner}, r7=PENDSV)
    emulator.run()
    counts = {one.number: one for one in profile(emulator).exceptions}
    assert profile(emulator).depths == {1: 2}  # of equal priority: one behind the other
    assert counts[11].latencies == {12: 1} and counts[14].jitter == 0
    assert len(logged(emulator)) == 3


def test_histogram_has_every_entry_once() -> None:
    few = ExceptionCount(16, "IRQ 0", 4, 9.0, {12: 3, 14: 1})
    assert few.histogram() == [(12, 12, 3), (14, 14, 1)] and few.jitter == 2
    many = ExceptionCount(16, "IRQ 0", 33, 9.0, {12 + n: 1 for n in range(33)})
    assert [count for _, _, count in many.histogram()] == [2] * 15 + [3]
    assert many.histogram()[0][:2] == (12, 14) and many.histogram()[-1][:2] == (42, 44)


def test_stacks_of_tasks_are_as_deep_as_what_they_left_in_memory() -> None:
    """Three tasks with a kilobyte each, all zero before."""
    path = program_path("rtos", "cortex-m4", FIRMWARE)
    found = mcusim.emulate(path, "stm32f469i-disco", dumps=["stacks"])
    base, memory = found.dumps[0].address, found.dumps[0].data
    tasks = {(one.top - base) // 1024: one for one in found.task_stacks}
    assert sorted(tasks) == [1, 2, 3] and {one.name for one in tasks.values()} == {"stacks"}
    for number, one in tasks.items():
        start = base + 1024 * (number - 1)
        first = next(i for i, byte in enumerate(memory[start - base :]) if byte)
        saved = 100  # bytes at most that PendSV saves below its frame: r4-r11, s16-s31, LR
        assert one.top == start + 1024
        assert 0 <= one.low - start - first <= saved
