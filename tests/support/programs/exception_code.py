"""Programs of the exception tests: their bytes, made once by ``arm-none-eabi-as -mcpu=cortex-m7``, and starting one.

r10 points at CYCCNT, r8 at the next word of a log in RAM, r11 at ICSR, r7 is stored there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from mcusim.cpu.system.ppb import BASE
from mcusim.emulator.emulator import Emulator
from mcusim.machine import Machine, load_machine
from tests.support.programs import fault_code

LOG, STACK = 0x2000_0000, 0x2000_4000
CYCCNT, ICSR, VTOR, SYSTICK = BASE + 0x1004, BASE + 0xED04, BASE + 0xED08, BASE + 0xE010
PENDSV, SYSTICK_PEND = 1 << 28, 1 << 26
MACHINES: dict[str, tuple[Machine, int]] = {  # and where code waits for nothing
    "cortex-m4": (load_machine("stm32f469i-disco", {"memory.flash.wait_states": "0"}), 0x0800_0000),
    "cortex-m7": (load_machine("stm32f746g-disco"), 0),
}
ISAS = tuple(MACHINES)

CODE = {
    "ldr r0, [r10]; str r0, [r8], #4; str r7, [r11]; isb; ldr r0, [r10]; str r0, [r8], #4; bx lr": (
        "daf8000048f8040bcbf80070bff36f8fdaf8000048f8040b7047"
    ),
    "ldr r0, [r10]; str r0, [r8], #4; bx lr": "daf8000048f8040b7047",
    "vmov s0, r7; ldr r0, [r10]; str r0, [r8], #4; str r7, [r11]; isb; ldr r0, [r10]; str r0, [r8], #4; bx lr": (
        "00ee107adaf8000048f8040bcbf80070bff36f8fdaf8000048f8040b7047"
    ),
    "str r1, [r0, #4]; str r2, [r0, #8]; str r3, [r0]; 1: wfi; subs r4, #1; bne 1b; bx lr": (
        "41608260036030bf013cfcd17047"
    ),
    "vmov s0, r8; ldr r0, [r10]; str r0, [r8], #4; bx lr": "00ee108adaf8000048f8040b7047",
    "adds r5, #1; bx lr": "01357047",
    "1: subs r4, #1; bne 1b; bx lr": "013cfdd17047",
    "cpsid i; str r7, [r11]; isb; ldr r0, [r10]; str r0, [r8], #4; cpsie i; ldr r0, [r10]; str r0, [r8], #4; bx lr": (
        "72b6cbf80070bff36f8fdaf8000048f8040b62b6daf8000048f8040b7047"
    ),
    "msr basepri, r6; str r7, [r11]; isb; ldr r0, [r10]; str r0, [r8], #4; "
    "movs r0, #0; msr basepri, r0; isb; ldr r0, [r10]; str r0, [r8], #4; bx lr": (
        "86f31188cbf80070bff36f8fdaf8000048f8040b002080f31188bff36f8fdaf8000048f8040b7047"
    ),
    "svc #3; bx lr": "03df7047",
    "str r7, [r11]; isb; strex r1, r0, [r9]; bx lr": "cbf80070bff36f8f49e800017047",
    "ldrex r0, [r9]; bx lr": "59e8000f7047",
    "str r1, [r0, #4]; str r2, [r0, #8]; str r3, [r0]; 1: subs r4, #1; bne 1b; bx lr": ("416082600360013cfdd17047"),
    "1: ldr r0, [r9]; cmp r0, #0; beq 1b; bx lr": "d9f800000028fbd07047",
    "str r7, [r9]; bx lr": "c9f800707047",
    "ldr r0, [r9]; adds r0, #1; str r0, [r9]; bx lr": "d9f800000130c9f800007047",
    "push {r4, lr}; 1: bl 2f; cmp r0, r6; bne 1b; pop {r4, pc}; "
    "2: push {r7, lr}; ldr r0, [r9]; str r0, [sp, #-4]; pop {r7, pc}": (
        "10b500f003f8b042fbd110bd80b5d9f800004df8040c80bd"
    ),
    "1: ldr r0, [r10]; lsrs r0, r0, #16; cmp r0, r6; bne 1b; bx lr": "daf80000000cb042fad17047",
    "1: ldr r0, [r6]; lsls r0, r0, #15; bpl 1b; bx lr": "3068c003fcd57047",
    "1: ldr r0, [r9]; str r4, [r9, #4]; adds r4, #1; cmp r0, r6; bne 1b; bx lr": ("d9f80000c9f804400134b042f8d17047"),
    "ldrex r0, [r9]; str r7, [r11]; isb; adds r0, #1; strex r1, r0, [r9]; bx lr": (
        "59e8000fcbf80070bff36f8f013049e800017047"
    ),
    "movs r0, #0; movs r1, #0; movs r2, #0; movs r3, #0; mov r12, r0; adds r5, #1; bx lr": (
        "0020002100220023844601357047"
    ),
    "movs r0, #1; msr control, r0; isb; str r3, [r2]; adds r5, #1; bx lr": "012080f31488bff36f8f136001357047",
    "msr psp, r2; movs r0, #3; msr control, r0; isb; svc #3; bx lr": "82f30988032080f31488bff36f8f03df7047",
    "mrs r5, control; bx lr": "eff314857047",
    "str r1, [r2]; dsb; ldr r5, [r2]; bx lr": "1160bff34f8f15687047",
    "str r1, [r0, #8]; str r2, [r0, #12]; str r3, [r0]; isb; ldr r5, [r4]; bx lr": "8160c2600360bff36f8f25687047",
    "ldr r6, [r4]; b .": "2668fee7",
    "str r1, [r0, #4]; str r1, [r0, #8]; str r2, [r0]; nop; nop; nop; nop; nop; nop; nop; nop; str r3, [r0, #4];"
    " 1: subs r4, #1; bne 1b; ldr r5, [r0]; ldr r6, [r0]; ldr r7, [r0]; bx lr": (
        "41608160026000bf00bf00bf00bf00bf00bf00bf00bf4360013cfdd10568066807687047"
    ),
    "str r1, [r0, #8]; str r2, [r0, #12]; str r3, [r0, #4]; ldr r5, [r0, #8]; ldr r6, [r0, #12]; bx lr": (
        "8160c26043608568c6687047"
    ),
}


def code(text: str) -> bytes:
    """The bytes of a program by its text."""
    return bytes.fromhex((CODE | fault_code.CODE)[text])


def prepared(
    isa: str,
    main: str,
    handlers: Mapping[int, str],
    output: Callable[[bytes], object] | None = None,
    **registers: int,
) -> Emulator:
    """A core about to call ``main``, with a handler for each exception number given; CYCCNT runs."""
    machine, base = MACHINES[isa]
    emulator = Emulator(machine, output)
    at = base + 0x200
    vectors = [STACK, 0] + [0] * 62
    for number, text in handlers.items():
        vectors[number] = at | 1
        emulator.write(at, code(text))
        at += 64
    emulator.write(at, code(main))
    emulator.write(base, struct.pack("<64I", *vectors))
    for address, value in ((VTOR, base), (BASE + 0xEDFC, 1 << 24), (BASE + 0x1000, 1)):
        emulator.write(address, struct.pack("<I", value))
    emulator.interrupts.with_vectors()
    emulator.state.fpu = 1
    emulator.set_stack(STACK, 0)
    emulator.call(at)
    for name, value in {"r8": LOG, "r10": CYCCNT, "r11": ICSR, **registers}.items():
        emulator.core[name] = value
    return emulator


def logged(emulator: Emulator) -> list[int]:
    """The words of the log."""
    size = emulator.registers()["r8"] - LOG
    return list(struct.unpack(f"<{size // 4}I", emulator.read(LOG, size)))
