"""Programs of the emulator's tests and their bytes, made once by ``arm-none-eabi-as -mcpu=cortex-m7``."""

CODE = {
    "mov r5, sp; mov sp, r4; push {r0, r1}; mov r6, sp; mov sp, r5; bx lr": "6d46a54603b46e46ad467047",
    "1: ldr r0, [r1]; subs r2, #1; bne 1b; bx lr": "0868013afcd17047",
    "str r2, [r1]; 1: ldr r0, [r1]; tst r0, #0x2000000; beq 1b; bx lr": "0a60086810f0007ffbd07047",
    "1: ldr r0, [r1]; tst r0, #0x2000000; beq 1b; bx lr": "086810f0007ffbd07047",
    "str r0, [r1]; ldr r2, [r1]; bx lr": "08600a687047",
    "str r0, [r1]; bx lr": "08607047",
    "str r0, [r1]; str r0, [r2]; ldr r3, [r2]; ldr r4, [r5]; bx lr": "0860106013682c687047",
    "1: ldrb r2, [r1]; adds r2, #1; strb r2, [r1]; dsb; isb; b 2f; 2: movs r3, #0; subs r0, #1; bne 1b": (
        "0a7801320a70bff34f8fbff36f8fffe700230138f4d1"
    ),
    "add.w r0, r0, #1; bx lr": "00f101007047",
    "1: nop; b 1b": "00bffde7",
    "b .": "fee7",
    "b.n .+4; nop; nop": "00e000bf00bf",
    "bkpt #3": "03be",
    "bx lr": "7047",
    "ldm r1, {r2, r3}": "91e80c00",
    "ldr r0, [r0]; bx lr": "00687047",
    "ldr r0, [r1, #4]": "4868",
    "ldr r0, [r1]; bx lr": "08687047",
    "ldr r0, [r1]; str r0, [r1]; bx lr": "086808607047",
    "ldr r2, [r3]; orr r2, r2, #8; ldr r0, [r1]; str r2, [r3]; dsb; isb": "1a6842f0080208681a60bff34f8fbff36f8f",
    "ldrd r2, r3, [r1]": "d1e90023",
    "mov r4, sp; mov sp, r1; push {r2, r3}; mov sp, r4; b 1f; 1: push {r2, r3}; pop {r2, r3}; bx lr": (
        "6c468d460cb4a546ffe70cb40cbc7047"
    ),
    "movs r0, #1; bx lr": "01207047",
    "movs r0, #32; bkpt #0xab; movs r0, #9; bx lr": "2020abbe09207047",
    "movs r0, #4; bkpt #0xab; bx lr": "0420abbe7047",
    "movs r0, #4; bkpt #0xab; movs r0, #9; bx lr": "0420abbe09207047",
    "movs r0, #7": "0720",
    "movs r0, #7; bx lr": "07207047",
    "movs r0, #7; cmp r0, #7; itt eq; moveq r0, #8; ldreq r2, [r1]; movs r0, #9; bx lr": "0720072804bf08200a6809207047",
    "movs r0, #7; ldr r0, [r1]; bx lr": "072008687047",
    "movs r0, #7; svc #5; movs r0, #9": "072005df0920",
    "movs r0, #7; udf #0": "072000de",
    "movs r0, #7; vadd.f32 s0, s0, s0; movs r0, #9": "072030ee000a0920",
    "movs r0, #9; adds r1, #1; bx lr": "092001317047",
    "movs r0, r3; bx lr": "18007047",
    "movs r4, #1; bx lr": "01247047",
    "nop; bx r1": "00bf0847",
    "nop; nop; nop; nop; sdiv r0, r0, r1; bx lr": "00bf00bf00bf00bf90fbf1f07047",
    "push {lr}; 1: str r1, [r0]; str r1, [r2]; blx r3; subs r1, #1; bne 1b; pop {pc}": "00b50160116098470139fad100bd",
    "push {r2, r3}": "0cb4",
    "sev; movs r0, #9; bx lr": "40bf09207047",
    "stm r1, {r2, r3}": "81e80c00",
    "str r0, [r1, #4]": "4860",
    "str r0, [r1]": "0860",
    "str r0, [r1]; wfi; movs r2, #9; bx lr": "086030bf09227047",
    "str r1, [r0]; dsb; isb; bx lr": "0160bff34f8fbff36f8f7047",
    "str r2, [r3]; str r4, [r3, #4]; str r5, [r3, #-8]; dsb; isb": "1a605c6043f8085cbff34f8fbff36f8f",
    "strb r1, [r0]; bx lr": "01707047",
    "udf #0": "00de",
    "vldr s0, [r1]": "91ed000a",
    "vmov s0, r1; vadd.f32 s0, s0, s0; vmov r0, s0; bx lr": "00ee101a30ee000a10ee100a7047",
    "wfe; movs r0, #9; bx lr": "20bf09207047",
    "yield; movs r0, #9; bx lr": "10bf09207047",
}


def code(text: str) -> bytes:
    """The bytes of a program by its text, instructions parted by semicolons."""
    return bytes.fromhex(CODE[text])
