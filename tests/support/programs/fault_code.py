"""Programs of the fault tests: their bytes, made once by ``arm-none-eabi-as -mcpu=cortex-m7``.

r11 points at ICSR, r8 at the next word of a log in RAM, r9 is what RECORD adds to the return address.
"""

# ruff: noqa: E501
CODE = {
    "mrs r0, ipsr; str r0, [r8], #4; ldr r0, [sp, #24]; str r0, [r8], #4; ldr r1, [r11, #0x24]; str r1, [r8], #4; ldr r2, [r11, #0x28]; str r2, [r8], #4; ldr r3, [r11, #0x34]; str r3, [r8], #4; ldr r3, [r11, #0x30]; str r3, [r8], #4; add r0, r9; str r0, [sp, #24]; str r1, [r11, #0x24]; str r2, [r11, #0x28]; bx lr": "eff3058048f8040b069848f8040bdbf8241048f8041bdbf8282048f8042bdbf8343048f8043bdbf8303048f8043b48440690cbf82410cbf828207047",
    "movs r0, #7; ldr r0, [r1]; adds r4, #1; str r4, [r2]; bx lr": "07200868013414607047",
    "movs r0, #7; str r0, [r1]; adds r4, #1; str r4, [r2]; bx lr": "07200860013414607047",
    "movs r0, #7; udf #0; adds r4, #1; str r4, [r2]; bx lr": "072000de013414607047",
    "movs r0, #7; vadd.f32 s0, s0, s0; adds r4, #1; str r4, [r2]; bx lr": "072030ee000a013414607047",
    "movs r0, #7; blx r1; adds r4, #1; str r4, [r2]; bx lr": "07208847013414607047",
    "movs r0, #7; svc #0; adds r4, #1; str r4, [r2]; bx lr": "072000df013414607047",
    "movs r0, #7; bkpt #1; adds r4, #1; str r4, [r2]; bx lr": "072001be013414607047",
    "movs r0, #7; ldm r1, {r5, r7}; adds r4, #1; str r4, [r2]; bx lr": "072091e8a000013414607047",
    "movs r0, #7; cmp r0, #7; itte eq; moveq r5, #8; ldreq r0, [r1]; movne r5, #9; adds r4, #1; str r4, [r2]; bx lr": "0720072806bf082508680925013414607047",
    "movs r0, #7; cpsid f; ldr r0, [r1]; adds r4, #1; str r4, [r2]; bx lr": "072071b60868013414607047",
    "ldr r0, [r3]; orr r0, r0, r6; str r0, [r3]; dsb; isb; movs r0, #7; ldr r0, [r1]; adds r4, #1; str r4, [r2]; bx lr": "186840ea06001860bff34f8fbff36f8f07200868013414607047",
    "ldr r0, [r3]; orr r0, r0, r6; str r0, [r3]; dsb; isb; movs r0, #7; sdiv r0, r0, r5; adds r4, #1; str r4, [r2]; bx lr": "186840ea06001860bff34f8fbff36f8f072090fbf5f0013414607047",
    "str r5, [r3]; str r6, [r3, #4]; str r7, [r3, #-8]; dsb; isb; movs r0, #7; str r0, [r1]; adds r4, #1; str r4, [r2]; bx lr": "1d605e6043f8087cbff34f8fbff36f8f07200860013414607047",
    "1: b 1b": "fee7",
    "1: adds r0, #1; ands r0, #3; bne 1b; nop; b 1b": "013010f00300fbd100bff9e7",
    "bkpt #0": "00be",
    "ldr r0, [r1]; bx lr": "08687047",
    "bx lr": "7047",
    "mov sp, r6; bx lr": "b5467047",
    "movs r0, #7; mov sp, r6; svc #0; adds r4, #1; str r4, [r2]; bx lr": "0720b54600df013414607047",
    "str r7, [sp, #4]; adds r6, #1; bx lr": "019701367047",
    "movs r0, #7; ldr r0, [r1]; str r0, [r3]; vmov s0, r1; adds r4, #1; str r4, [r2]; bx lr": "07200868186000ee101a013414607047",
    "ldr r0, [r1]; str r0, [r2, #4]; udf #1; bx lr": "0868506001de7047",
    "mov r4, lr; str r5, [r3]; isb; svc #0; bx r4": "74461d60bff36f8f00df2047",
    "mov r6, lr; bfi r6, r5, #0, #4; bx r6": "764665f303063047",
    "ldr r0, [sp, #28]; orr r0, r0, #15; str r0, [sp, #28]; bx lr": "079840f00f0007907047",
    "str r5, [r3]; dsb; isb; wfi; nop; bx lr": "1d60bff34f8fbff36f8f30bf00bf7047",
    "wfe; adds r4, #1; wfe; adds r4, #1; bx lr": "20bf013420bf01347047",
    "sev; wfe; adds r4, #1; bx lr": "40bf20bf01347047",
    "str r5, [r3]; wfe; adds r4, #1; bx lr": "1d6020bf01347047",
    "cpsid i; wfi; ldr r0, [r10]; str r0, [r8], #4; cpsie i; ldr r0, [r10]; str r0, [r8], #4; bx lr": "72b630bfdaf8000048f8040b62b6daf8000048f8040b7047",
    "cpsid f; str r7, [r11]; isb; adds r5, #1; cpsie f; isb; bx lr": "71b6cbf80070bff36f8f013561b6bff36f8f7047",
    "msr basepri, r6; msr basepri_max, r4; mrs r5, basepri; bx lr": "86f3118884f31288eff311857047",
}
