"""What single instructions decode to, one a line, written from the Armv7-M manual.

``OTHERS``: bytes | text | kind | registers read | written | accumulator, shifted operand, precision.
``MEMORY``: bytes | text | kind | read | written | of those read, the address | base updated | accesses, R or W with the
size in bytes, ``!`` where the architecture faults it unless it is aligned. The bytes are GNU as's at address 0 onwards.
"""

OTHERS = """
0120 | movs r0, #1 | ALU |  | r0 flags
0846 | mov r0, r1 | ALU | r1 | r0
8846 | mov r8, r1 | ALU | r1 | r8
4ff4fe50 | mov.w r0, #0x1fc0 | ALU_CONSTANT |  | r0
5ff47f40 | movs.w r0, #0xff00 | ALU_CONSTANT |  | r0 flags
4ff0ff10 | mov.w r0, #0xff00ff | ALU |  | r0
6ff00100 | mvn r0, #1 | ALU |  | r0
40f2d240 | movw r0, #0x4d2 | ALU |  | r0
c0f2d240 | movt r0, #0x4d2 | ALU | r0 | r0
8f46 | mov pc, r1 | ALU | r1 | r15
01eb0200 | add.w r0, r1, r2 | ALU | r1 r2 | r0
c81c | adds r0, r1, #3 | ALU | r1 | r0 flags
c830 | adds r0, #0xc8 | ALU | r0 | r0 flags
04a8 | add r0, sp, #0x10 | ALU | r13 | r0
04b0 | add sp, #0x10 | ALU | r13 | r13
84b0 | sub sp, #0x10 | ALU | r13 | r13
8844 | add r8, r1 | ALU | r1 r8 | r8
8f44 | add pc, r1 | ALU | r1 r15 | r15
01ebc200 | add.w r0, r1, r2, lsl #3 | ALU_SHIFTED | r1 r2 | r0 | shift r2
01f6f970 | addw r0, r1, #0xff9 | ALU | r1 | r0
a1f6f970 | subw r0, r1, #0xff9 | ALU | r1 | r0
18a0 | adr r0, #0x60 | ALU | r15 | r0
0ff25c00 | addw r0, pc, #0x5c | ALU | r15 | r0
0138 | subs r0, #1 | ALU | r0 | r0 flags
4842 | rsbs r0, r1, #0 | ALU | r1 | r0 flags
c1f10000 | rsb.w r0, r1, #0 | ALU | r1 | r0
40eb0100 | adc.w r0, r0, r1 | ALU | r0 r1 flags | r0
4841 | adcs r0, r1 | ALU | r0 r1 flags | r0 flags
8841 | sbcs r0, r1 | ALU | r0 r1 flags | r0 flags
8842 | cmp r0, r1 | ALU | r0 r1 | flags
0128 | cmp r0, #1 | ALU | r0 | flags
8845 | cmp r8, r1 | ALU | r1 r8 | flags
c842 | cmn r0, r1 | ALU | r0 r1 | flags
b0eb810f | cmp.w r0, r1, lsl #2 | ALU_SHIFTED | r0 r1 | flags | shift r1
0842 | tst r0, r1 | ALU | r0 r1 | flags
90ea010f | teq.w r0, r1 | ALU | r0 r1 | flags
10f0010f | tst.w r0, #1 | ALU | r0 | flags
0840 | ands r0, r1 | ALU | r0 r1 | r0 flags
01ea0200 | and.w r0, r1, r2 | ALU | r1 r2 | r0
41ea3220 | orr.w r0, r1, r2, ror #8 | ALU_SHIFTED | r1 r2 | r0 | shift r2
21f00100 | bic r0, r1, #1 | ALU | r1 | r0
81f01b30 | eor r0, r1, #0x1b1b1b1b | ALU | r1 | r0
c800 | lsls r0, r1, #3 | SHIFT | r1 | r0 flags
c840 | lsrs r0, r1 | SHIFT | r0 r1 | r0 flags
4feac100 | lsl.w r0, r1, #3 | SHIFT | r1 | r0
01fa02f0 | lsl.w r0, r1, r2 | SHIFT | r1 r2 | r0
4feae100 | asr.w r0, r1, #3 | SHIFT | r1 | r0
4feaf100 | ror.w r0, r1, #3 | SHIFT | r1 | r0
c841 | rors r0, r1 | SHIFT | r0 r1 | r0 flags
4fea3100 | rrx r0, r1 | SHIFT | r1 flags | r0
c843 | mvns r0, r1 | ALU | r1 | r0 flags
6feac100 | mvn.w r0, r1, lsl #3 | ALU_SHIFTED | r1 | r0 | shift r1
00bf | nop | NOP
aff30080 | nop.w | NOP
c8b2 | uxtb r0, r1 | BITFIELD | r1 | r0
5ffa91f0 | uxtb.w r0, r1, ror #8 | BITFIELD | r1 | r0 | shift r1
08b2 | sxth r0, r1 | BITFIELD | r1 | r0
51fa82f0 | uxtab r0, r1, r2 | BITFIELD | r1 r2 | r0 | shift r2
2ffa81f0 | sxtb16 r0, r1 | SIMD | r1 | r0
2ffa91f0 | sxtb16 r0, r1, ror #8 | SIMD | r1 | r0 | shift r1
61f3c600 | bfi r0, r1, #3, #4 | BITFIELD | r0 r1 | r0 | shift r1
6ff3c600 | bfc r0, #3, #4 | BITFIELD | r0 | r0
c1f3c300 | ubfx r0, r1, #3, #4 | BITFIELD | r1 | r0
b1fa81f0 | clz r0, r1 | BITFIELD | r1 | r0
91faa1f0 | rbit r0, r1 | BITFIELD | r1 | r0
08ba | rev r0, r1 | BITFIELD | r1 | r0
91fa81f0 | rev.w r0, r1 | BITFIELD | r1 | r0
48ba | rev16 r0, r1 | BITFIELD | r1 | r0
01f30700 | ssat r0, #8, r1 | BITFIELD | r1 | r0
01f3c700 | ssat r0, #8, r1, lsl #3 | BITFIELD | r1 | r0 | shift r1
a1f3c800 | usat r0, #8, r1, asr #3 | BITFIELD | r1 | r0 | shift r1
21f30700 | ssat16 r0, #8, r1 | SIMD | r1 | r0
c1ea0200 | pkhbt r0, r1, r2 | SIMD | r1 r2 | r0 | shift r2
c1ea0220 | pkhbt r0, r1, r2, lsl #8 | SIMD | r1 r2 | r0 | shift r2
c1ea2220 | pkhtb r0, r1, r2, asr #8 | SIMD | r1 r2 | r0 | shift r2
a1fa82f0 | sel r0, r1, r2 | SIMD | r1 r2 | r0
81fa42f0 | uadd8 r0, r1, r2 | SIMD | r1 r2 | r0
c1fa42f0 | usub8 r0, r1, r2 | SIMD | r1 r2 | r0
91fa02f0 | sadd16 r0, r1, r2 | SIMD | r1 r2 | r0
81fa52f0 | uqadd8 r0, r1, r2 | SIMD | r1 r2 | r0
82fa81f0 | qadd r0, r1, r2 | SIMD | r1 r2 | r0
82fa91f0 | qdadd r0, r1, r2 | SIMD | r1 r2 | r0
71fb02f0 | usad8 r0, r1, r2 | SIMD | r1 r2 | r0
71fb0230 | usada8 r0, r1, r2, r3 | SIMD | r1 r2 r3 | r0
01fb02f0 | mul r0, r1, r2 | MULTIPLY | r1 r2 | r0
4843 | muls r0, r1, r0 | MULTIPLY | r0 r1 | r0 flags
01fb0230 | mla r0, r1, r2, r3 | MAC | r1 r2 r3 | r0 | acc r3
01fb1230 | mls r0, r1, r2, r3 | MAC | r1 r2 r3 | r0 | acc r3
82fb0301 | smull r0, r1, r2, r3 | MULTIPLY_LONG | r2 r3 | r0 r1
a2fb0301 | umull r0, r1, r2, r3 | MULTIPLY_LONG | r2 r3 | r0 r1
c2fb0301 | smlal r0, r1, r2, r3 | MAC_LONG | r0 r1 r2 r3 | r0 r1 | acc r0 r1
e2fb0301 | umlal r0, r1, r2, r3 | MAC_LONG | r0 r1 r2 r3 | r0 r1 | acc r0 r1
e2fb6301 | umaal r0, r1, r2, r3 | MAC_LONG | r0 r1 r2 r3 | r0 r1 | acc r0 r1
11fb02f0 | smulbb r0, r1, r2 | MULTIPLY | r1 r2 | r0
21fb02f0 | smuad r0, r1, r2 | MULTIPLY | r1 r2 | r0
41fb02f0 | smusd r0, r1, r2 | MULTIPLY | r1 r2 | r0
11fb0230 | smlabb r0, r1, r2, r3 | MAC | r1 r2 r3 | r0 | acc r3
31fb1230 | smlawt r0, r1, r2, r3 | MAC | r1 r2 r3 | r0 | acc r3
21fb0230 | smlad r0, r1, r2, r3 | MAC | r1 r2 r3 | r0 | acc r3
c2fbc301 | smlald r0, r1, r2, r3 | MAC_LONG | r0 r1 r2 r3 | r0 r1 | acc r0 r1
c2fb8301 | smlalbb r0, r1, r2, r3 | MAC_LONG | r0 r1 r2 r3 | r0 r1 | acc r0 r1
51fb02f0 | smmul r0, r1, r2 | MULTIPLY | r1 r2 | r0
51fb0230 | smmla r0, r1, r2, r3 | MAC | r1 r2 r3 | r0 | acc r3
61fb0230 | smmls r0, r1, r2, r3 | MAC | r1 r2 r3 | r0 | acc r3
91fbf2f0 | sdiv r0, r1, r2 | DIVIDE | r1 r2 | r0
b1fbf2f0 | udiv r0, r1, r2 | DIVIDE | r1 r2 | r0
bff32f8f | clrex | SYSTEM
06e7 | b #0xa0 | BRANCH |  | r15
fff705bf | b.w #0xa0 | BRANCH |  | r15
fff7fdfe | bl #0xa0 | CALL |  | r14 r15
7047 | bx lr | BRANCH_REGISTER | r14 | r15
1847 | bx r3 | BRANCH_REGISTER | r3 | r15
9847 | blx r3 | BRANCH_REGISTER | r3 | r14 r15
10b1 | cbz r0, #0x2b4 | COMPARE_BRANCH | r0 | r15
08b9 | cbnz r0, #0x2b4 | COMPARE_BRANCH | r0 | r15
bff35f8f | dmb sy | BARRIER
bff34f8f | dsb sy | BARRIER
bff36f8f | isb sy | BARRIER
eff30080 | mrs r0, apsr | SYSTEM | flags | r0
eff31080 | mrs r0, primask | SYSTEM |  | r0
80f30088 | msr apsr_nzcvq, r0 | SYSTEM | r0 | flags
80f3008c | msr apsr_nzcvqg, r0 | SYSTEM | r0 | flags
80f30084 | msr apsr_g, r0 | SYSTEM | r0
80f31188 | msr basepri, r0 | SYSTEM | r0
80f31488 | msr control, r0 | SYSTEM | r0
62b6 | cpsie i | SYSTEM
01df | svc #1 | SYSTEM
01be | bkpt #1 | SYSTEM
01de | udf #1 | SYSTEM
f0f701a0 | udf.w #1 | SYSTEM
30bf | wfi | SYSTEM
aff30380 | wfi.w | SYSTEM
30ee810a | vadd.f32 s0, s1, s2 | FP_ALU | s1 s2 | s0
31ee420b | vsub.f64 d0, d1, d2 | FP_ALU | s2 s3 s4 s5 | s0 s1 | double
20ee810a | vmul.f32 s0, s1, s2 | FP_ALU | s1 s2 | s0
b0eee00a | vabs.f32 s0, s1 | FP_ALU | s1 | s0
b1eee00a | vsqrt.f32 s0, s1 | FP_SQRT | s1 | s0
80ee810a | vdiv.f32 s0, s1, s2 | FP_DIVIDE | s1 s2 | s0
81ee020b | vdiv.f64 d0, d1, d2 | FP_DIVIDE | s2 s3 s4 s5 | s0 s1 | double
00ee810a | vmla.f32 s0, s1, s2 | FP_MAC | s0 s1 s2 | s0 | acc s0
10ee810a | vnmls.f32 s0, s1, s2 | FP_MAC | s0 s1 s2 | s0 | acc s0
a0ee810a | vfma.f32 s0, s1, s2 | FP_MAC | s0 s1 s2 | s0 | acc s0
a1ee420b | vfms.f64 d0, d1, d2 | FP_MAC | s0 s1 s2 s3 s4 s5 | s0 s1 | acc s0 s1double
b4ee600a | vcmp.f32 s0, s1 | FP_ALU | s0 s1
b5ee400a | vcmp.f32 s0, #0 | FP_ALU | s0
f1ee10fa | vmrs apsr_nzcv, fpscr | FP_MOVE |  | flags
f1ee100a | vmrs r0, fpscr | FP_MOVE |  | r0
e1ee100a | vmsr fpscr, r0 | FP_MOVE | r0
bdeee00a | vcvt.s32.f32 s0, s1 | FP_ALU | s1 | s0
b8eee00a | vcvt.f32.s32 s0, s1 | FP_ALU | s1 | s0
bdee600a | vcvtr.s32.f32 s0, s1 | FP_ALU | s1 | s0
baeece0a | vcvt.f32.s32 s0, s0, #4 | FP_ALU | s0 | s0
beee460a | vcvt.s16.f32 s0, s0, #4 | FP_ALU | s0 | s0
b7eee00a | vcvt.f64.f32 d0, s1 | FP_ALU | s1 | s0 s1 | double
f7eec00b | vcvt.f32.f64 s1, d0 | FP_ALU | s0 s1 | s1 | double
fdeec00b | vcvt.s32.f64 s1, d0 | FP_ALU | s0 s1 | s1 | double
b8ee600b | vcvt.f64.u32 d0, s1 | FP_ALU | s1 | s0 s1 | double
b2ee600a | vcvtb.f32.f16 s0, s1 | FP_ALU | s1 | s0
b3eee00a | vcvtt.f16.f32 s0, s1 | FP_ALU | s1 | s0
bcfee00a | vcvta.s32.f32 s0, s1 | FP_ALU | s1 | s0
bffe410b | vcvtm.u32.f64 s0, d1 | FP_ALU | s2 s3 | s0 | double
b0ee600a | vmov.f32 s0, s1 | FP_MOVE | s1 | s0
b0ee410b | vmov.f64 d0, d1 | FP_MOVE | s2 s3 | s0 s1 | double
b7ee000a | vmov.f32 s0, #1.000000e+00 | FP_MOVE |  | s0
b7ee000b | vmov.f64 d0, #1.000000e+00 | FP_MOVE |  | s0 s1 | double
00ee101a | vmov s0, r1 | FP_MOVE | r1 | s0
10ee101a | vmov r1, s0 | FP_MOVE | s0 | r1
51ec100b | vmov r0, r1, d0 | FP_MOVE_PAIR | s0 s1 | r0 r1
41ec100b | vmov d0, r0, r1 | FP_MOVE_PAIR | r0 r1 | s0 s1
41ec100a | vmov s0, s1, r0, r1 | FP_MOVE_PAIR | r0 r1 | s0 s1
51ec100a | vmov r0, r1, s0, s1 | FP_MOVE_PAIR | s0 s1 | r0 r1
20ee100b | vmov.32 d0[1], r0 | FP_MOVE | r0 | s1
33ee100b | vmov.32 r0, d3[1] | FP_MOVE | s7 | r0
00ee100b | vmov.32 d0[0], r0 | FP_MOVE | r0 | s0
13ee100b | vmov.32 r0, d3[0] | FP_MOVE | s6 | r0
00fe810a | vseleq.f32 s0, s1, s2 | FP_ALU | flags s1 s2 | s0
21fe020b | vselge.f64 d0, d1, d2 | FP_ALU | flags s2 s3 s4 s5 | s0 s1 | double
80fe810a | vmaxnm.f32 s0, s1, s2 | FP_ALU | s1 s2 | s0
b8fe600a | vrinta.f32 s0, s1 | FP_ALU | s1 | s0
b7ee600a | vrintx.f32 s0, s1 | FP_ALU | s1 | s0
"""

MEMORY = """
0868 | ldr r0, [r1] | LOAD | r1 | r0 | r1 |  | R4
4868 | ldr r0, [r1, #4] | LOAD | r1 | r0 | r1 |  | R4
8858 | ldr r0, [r1, r2] | LOAD | r1 r2 | r0 | r1 r2 |  | R4
51f82200 | ldr.w r0, [r1, r2, lsl #2] | LOAD | r1 r2 | r0 | r1 r2 |  | R4
51f8040c | ldr r0, [r1, #-0x4] | LOAD | r1 | r0 | r1 |  | R4
51f8040b | ldr r0, [r1], #4 | LOAD | r1 | r0 r1 | r1 | r1 | R4
51f8040f | ldr r0, [r1, #4]! | LOAD | r1 | r0 r1 | r1 | r1 | R4
5df8040b | ldr r0, [sp], #4 | LOAD | r13 | r0 r13 | r13 | r13 | R4
4df8040d | str r0, [sp, #-0x4]! | STORE | r0 r13 | r13 | r13 | r13 | W4
0298 | ldr r0, [sp, #8] | LOAD | r13 | r0 | r13 |  | R4
0248 | ldr r0, [pc, #8] | LOAD | r15 | r0 | r15 |  | R4
5ff80800 | ldr.w r0, [pc, #-0x8] | LOAD | r15 | r0 | r15 |  | R4
1ff80800 | ldrb.w r0, [pc, #-0x8] | LOAD | r15 | r0 | r15 |  | R1
4878 | ldrb r0, [r1, #1] | LOAD | r1 | r0 | r1 |  | R1
885a | ldrh r0, [r1, r2] | LOAD | r1 r2 | r0 | r1 r2 |  | R2
8856 | ldrsb r0, [r1, r2] | LOAD | r1 r2 | r0 | r1 r2 |  | R1
31f9020b | ldrsh r0, [r1], #2 | LOAD | r1 | r0 r1 | r1 | r1 | R2
51f8040e | ldrt r0, [r1, #4] | LOAD | r1 | r0 | r1 |  | R4
11f9000e | ldrsbt r0, [r1] | LOAD | r1 | r0 | r1 |  | R1
41f8000e | strt r0, [r1] | STORE | r0 r1 |  | r1 |  | W4
4860 | str r0, [r1, #4] | STORE | r0 r1 |  | r1 |  | W4
8850 | str r0, [r1, r2] | STORE | r0 r1 r2 |  | r1 r2 |  | W4
41f81200 | str.w r0, [r1, r2, lsl #1] | STORE | r0 r1 r2 |  | r1 r2 |  | W4
0870 | strb r0, [r1] | STORE | r0 r1 |  | r1 |  | W1
21f8020b | strh r0, [r1], #2 | STORE | r0 r1 | r1 | r1 | r1 | W2
c2e90001 | strd r0, r1, [r2] | STORE_DOUBLE | r0 r1 r2 |  | r2 |  | W4! W4!
62e90201 | strd r0, r1, [r2, #-0x8]! | STORE_DOUBLE | r0 r1 r2 | r2 | r2 | r2 | W4! W4!
d2e90201 | ldrd r0, r1, [r2, #8] | LOAD_DOUBLE | r2 | r0 r1 | r2 |  | R4! R4!
f2e80201 | ldrd r0, r1, [r2], #8 | LOAD_DOUBLE | r2 | r0 r1 r2 | r2 | r2 | R4! R4!
dfe90201 | ldrd r0, r1, [pc, #8] | LOAD_DOUBLE | r15 | r0 r1 | r15 |  | R4! R4!
d1f800f0 | ldr.w pc, [r1] | LOAD | r1 | r15 | r1 |  | R4
dff804f0 | ldr.w pc, [pc, #4] | LOAD | r15 | r15 | r15 |  | R4
5df804fb | ldr pc, [sp], #4 | LOAD | r13 | r13 r15 | r13 | r13 | R4
0ec8 | ldm r0!, {r1, r2, r3} | LOAD_MULTIPLE | r0 | r0 r1 r2 r3 | r0 | r0 | R4! R4! R4!
07c8 | ldm r0, {r0, r1, r2} | LOAD_MULTIPLE | r0 | r0 r1 r2 | r0 |  | R4! R4! R4!
90e81101 | ldm.w r0, {r0, r4, r8} | LOAD_MULTIPLE | r0 | r0 r4 r8 | r0 |  | R4! R4! R4!
b0e81001 | ldm.w r0!, {r4, r8} | LOAD_MULTIPLE | r0 | r0 r4 r8 | r0 | r0 | R4! R4!
10e90600 | ldmdb r0, {r1, r2} | LOAD_MULTIPLE | r0 | r1 r2 | r0 |  | R4! R4!
30e90600 | ldmdb r0!, {r1, r2} | LOAD_MULTIPLE | r0 | r0 r1 r2 | r0 | r0 | R4! R4!
06c0 | stm r0!, {r1, r2} | STORE_MULTIPLE | r0 r1 r2 | r0 | r0 | r0 | W4! W4!
80e80201 | stm.w r0, {r1, r8} | STORE_MULTIPLE | r0 r1 r8 |  | r0 |  | W4! W4!
20e90600 | stmdb r0!, {r1, r2} | STORE_MULTIPLE | r0 r1 r2 | r0 | r0 | r0 | W4! W4!
2de90201 | push.w {r1, r8} | STORE_MULTIPLE | r1 r8 r13 | r13 | r13 | r13 | W4! W4!
11b5 | push {r0, r4, lr} | STORE_MULTIPLE | r0 r4 r13 r14 | r13 | r13 | r13 | W4! W4! W4!
2de91041 | push.w {r4, r8, lr} | STORE_MULTIPLE | r4 r8 r13 r14 | r13 | r13 | r13 | W4! W4! W4!
4df8048d | str r8, [sp, #-0x4]! | STORE | r8 r13 | r13 | r13 | r13 | W4
11bc | pop {r0, r4} | LOAD_MULTIPLE | r13 | r0 r4 r13 | r13 | r13 | R4! R4!
10bd | pop {r4, pc} | LOAD_MULTIPLE | r13 | r4 r13 r15 | r13 | r13 | R4! R4!
bde81081 | pop.w {r4, r8, pc} | LOAD_MULTIPLE | r13 | r4 r8 r13 r15 | r13 | r13 | R4! R4! R4!
91f800f0 | pld [r1] | PRELOAD | r1 |  | r1
11f822f0 | pld [r1, r2, lsl #2] | PRELOAD | r1 r2 |  | r1 r2
9ff808f0 | pld [pc, #8] | PRELOAD | r15 |  | r15
11f808fc | pld [r1, #-0x8] | PRELOAD | r1 |  | r1
91f900f0 | pli [r1] | PRELOAD | r1 |  | r1
51e8000f | ldrex r0, [r1] | LOAD | r1 | r0 | r1 |  | R4!
51e8020f | ldrex r0, [r1, #8] | LOAD | r1 | r0 | r1 |  | R4!
42e80010 | strex r0, r1, [r2] | STORE | r1 r2 | r0 | r2 |  | R4! W4!
d1e84f0f | ldrexb r0, [r1] | LOAD | r1 | r0 | r1 |  | R1
c2e8401f | strexb r0, r1, [r2] | STORE | r1 r2 | r0 | r2 |  | R1 W1
dfe800f0 | tbb [pc, r0] | TABLE_BRANCH | r0 r15 | r15 | r0 r15 |  | R1
dfe810f0 | tbh [pc, r0, lsl #1] | TABLE_BRANCH | r0 r15 | r15 | r0 r15 |  | R2
d1e800f0 | tbb [r1, r0] | TABLE_BRANCH | r0 r1 r15 | r15 | r0 r1 |  | R1
91ed000a | vldr s0, [r1] | FP_LOAD | r1 | s0 | r1 |  | R4!
11ed010a | vldr s0, [r1, #-4] | FP_LOAD | r1 | s0 | r1 |  | R4!
91ed020b | vldr d0, [r1, #8] | FP_LOAD | r1 | s0 s1 | r1 |  | R8!
9fed020a | vldr s0, [pc, #8] | FP_LOAD | r15 | s0 | r15 |  | R4!
9fed020b | vldr d0, [pc, #8] | FP_LOAD | r15 | s0 s1 | r15 |  | R8!
81ed000a | vstr s0, [r1] | FP_STORE | r1 s0 |  | r1 |  | W4!
81ed000b | vstr d0, [r1] | FP_STORE | r1 s0 s1 |  | r1 |  | W8!
90ec040a | vldmia r0, {s0, s1, s2, s3} | FP_LOAD_MULTIPLE | r0 | s0 s1 s2 s3 | r0 |  | R4! R4! R4! R4!
b0ec080b | vldmia r0!, {d0, d1, d2, d3} | FP_LOAD_MULTIPLE | r0 | r0 s0 s1 s2 s3 s4 s5 s6 s7 | r0 | r0 | R8! R8! R8! R8!
30ed040a | vldmdb r0!, {s0, s1, s2, s3} | FP_LOAD_MULTIPLE | r0 | r0 s0 s1 s2 s3 | r0 | r0 | R4! R4! R4! R4!
a0ec040a | vstmia r0!, {s0, s1, s2, s3} | FP_STORE_MULTIPLE | r0 s0 s1 s2 s3 | r0 | r0 | r0 | W4! W4! W4! W4!
20ed048b | vstmdb r0!, {d8, d9} | FP_STORE_MULTIPLE | r0 s16 s17 s18 s19 | r0 | r0 | r0 | W8! W8!
2ded048b | vpush {d8, d9} | FP_STORE_MULTIPLE | r13 s16 s17 s18 s19 | r13 | r13 | r13 | W8! W8!
2ded018a | vpush {s16} | FP_STORE_MULTIPLE | r13 s16 | r13 | r13 | r13 | W4!
bdec028a | vpop {s16, s17} | FP_LOAD_MULTIPLE | r13 | r13 s16 s17 | r13 | r13 | R4! R4!
bdec028b | vpop {d8} | FP_LOAD_MULTIPLE | r13 | r13 s16 s17 | r13 | r13 | R8!
"""
