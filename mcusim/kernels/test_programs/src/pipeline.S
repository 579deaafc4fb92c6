/* Pipeline snippets: one instruction sequence each, repeated without a break inside a counted loop.

   Every function p_<what>(iterations, first, second) runs ``iterations`` (at least 1) times a body of UNITS copies of its
   unit, closed by SUBS.W and BNE.W. The table p_table holds {name, function, instructions in the body} of each, ended by
   a zero, so that cycles per instruction are

       (cycles(p_x, 2n) - cycles(p_x, n) - (cycles(p_empty, 2n) - cycles(p_empty, n))) / n / instructions

   ``first`` and ``second`` are two addresses to load from and store to, 64 writable bytes each, aligned to 64; 0 stands
   for a buffer in .bss. p_udiv and p_sdiv take their operands there instead. Bodies start at a multiple of 16 bytes.

   In the units: r1 = first, r2 = second, r3 = 3, r4 = 0, r7 = 7; r5, r6, r8 to r12 and lr are free and 0 at the start, lr apart.
   A body's own first instruction is counted too: CMP r4, r4 in ``flagged`` ones (Z and C set, as the units want them),
   NOP in those at a halfword. IT is counted as an instruction, and so is one whose condition fails. */
    .file "pipeline.S" /* else the linker names the temporary object file */
    .syntax unified
    .thumb
    .equ UNITS, 16

    .macro prologue name, instructions
    .pushsection .rodata.p_names, "a"
77: .asciz "\name"
    .popsection
    .pushsection .rodata.p_table, "a"
    .word 77b, \name, \instructions
    .popsection
    .p2align 4
    .global \name
    .type \name, %function
    .thumb_func
\name:
    push {r4-r11, lr}
    .endm

    .macro close name
    subs.w r0, r0, #1
    bne.w 88b
    pop {r4-r11, pc}
    .ltorg
    .size \name, . - \name
    .endm

    /* per_unit: instructions in one unit; setup runs once, before the loop */
    .macro snippet name, per_unit, unit, setup="nop"
    prologue \name, UNITS*(\per_unit)
    bl p_setup
    \setup
    .p2align 4
88: .rept UNITS
    \unit
    .endr
    close \name
    .endm

    /* a nop.n first, so that each wide instruction of the body stands at an address that is not a multiple of 4 */
    .macro halfword name, per_unit, unit
    prologue \name, UNITS*(\per_unit)+1
    bl p_setup
    .p2align 4
88: nop.n
    .rept UNITS
    \unit
    .endr
    close \name
    .endm

    .macro flagged name, per_unit, unit, setup="nop"
    prologue \name, UNITS*(\per_unit)+1
    bl p_setup
    \setup
    .p2align 4
88: cmp.w r4, r4
    .rept UNITS
    \unit
    .endr
    close \name
    .endm

    /* first and second are numbers, not addresses */
    .macro numbers name, per_unit, unit
    prologue \name, UNITS*(\per_unit)
    bl p_constants
    .p2align 4
88: .rept UNITS
    \unit
    .endr
    close \name
    .endm

    .macro floating name, per_unit, unit
    snippet \name, \per_unit, "\unit", "bl p_floats"
    .endm

    .pushsection .rodata.p_table, "a"
    .p2align 2
    .global p_table
    .type p_table, %object
p_table:
    .popsection

    .text
    .p2align 2
    .thumb_func
p_setup:
    ldr r3, =p_buffer
    cmp r1, #0
    it eq
    moveq r1, r3
    cmp r2, #0
    it eq
    moveq r2, r3
    .thumb_func
p_constants:
    mov r3, #3
    mov r7, #7
    .irp register, r4, r5, r6, r8, r9, r10, r11, r12
    mov \register, #0
    .endr
    bx lr

    .thumb_func
p_floats: /* s0 to s15 = 1.0; the buffer holds 1.0 too */
    .irp register, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15
    vmov.f32 \register, #1.0
    .endr
    vstm r1, {s0-s15}
    bx lr

    .thumb_func
p_return:
    bx lr

    .pushsection .bss.p_buffer, "aw", %nobits
    .p2align 6
p_buffer:
    .space 256
    .popsection

/* the loop alone */
    prologue p_empty, 0
    .p2align 4
88:
    close p_empty

/* arithmetic */
    snippet p_nop, 1, "nop.n"
    snippet p_nop_wide, 1, "nop.w"
    snippet p_add_pair, 2, "add.w r5, r3, r7; add.w r6, r3, r7"
    snippet p_add_narrow, 2, "adds r5, r3, r7; adds r6, r3, r7"
    snippet p_add_chain, 1, "add.w r5, r5, r3"
    snippet p_add_dependent_pair, 2, "add.w r5, r3, r7; add.w r6, r5, r7"
    snippet p_add_shifted_pair, 2, "add.w r5, r3, r7, lsl #2; add.w r6, r3, r7, lsl #2"
    snippet p_add_shifted_chain, 1, "add.w r5, r3, r5, lsl #1"
    snippet p_add_mixed_pair, 2, "add.w r5, r3, r7, lsl #2; add.w r6, r3, r7"
    snippet p_eor_constant_pair, 2, "eor.w r5, r3, #0x1FC0; eor.w r6, r7, #0x1FC0"
    snippet p_eor_pattern_pair, 2, "eor.w r5, r3, #0x1B1B1B1B; eor.w r6, r7, #0x1B1B1B1B"
    snippet p_lsl_pair, 2, "lsl.w r5, r3, #3; lsl.w r6, r7, #3"
    snippet p_lsl_register_pair, 2, "lsl.w r5, r3, r7; lsl.w r6, r7, r3"
    snippet p_mov_pair, 2, "mov.w r5, r3; mov.w r6, r7"
    snippet p_movw_movt, 2, "movw r5, #0x1234; movt r5, #0x5678"
    snippet p_cmp_pair, 2, "cmp.w r3, r7; cmp.w r4, r7"
    halfword p_add_at_halfword, 1, "add.w r5, r3, r7"
    snippet p_uxtb_pair, 2, "uxtb.w r5, r3; uxtb.w r6, r7"
    snippet p_uxtb_add, 2, "uxtb.w r5, r3; add.w r6, r3, r7"
    snippet p_add_uxtb, 2, "add.w r6, r3, r7; uxtb.w r5, r3"
    snippet p_ubfx_chain, 1, "ubfx r5, r5, #0, #8"
    snippet p_rev_chain, 1, "rev.w r5, r5"
    snippet p_clz_pair, 2, "clz r5, r3; clz r6, r7"
    snippet p_sxtb16_chain, 1, "sxtb16 r5, r5"
    snippet p_qadd_chain, 1, "qadd r5, r5, r3"

/* multiply and divide */
    snippet p_mul_pair, 2, "mul r5, r3, r7; mul r6, r3, r7"
    snippet p_mul_chain, 1, "mul r5, r5, r3"
    snippet p_mul_add, 2, "mul r5, r3, r7; add.w r6, r5, r3"
    snippet p_mul_beside_add, 2, "mul r5, r3, r7; add.w r6, r3, r7"
    snippet p_mul_beside_str, 2, "mul r5, r3, r7; str.w r6, [r1]"
    snippet p_mla_chain, 1, "mla r5, r3, r7, r5"
    snippet p_mla_operand_chain, 1, "mla r5, r5, r3, r7"
    snippet p_smlad_chain, 1, "smlad r5, r3, r7, r5"
    snippet p_smlad_pair, 2, "smlad r5, r3, r7, r5; smlad r6, r3, r7, r6"
    snippet p_smlad_beside_add, 2, "smlad r5, r3, r7, r5; add.w r6, r3, r7"
    snippet p_smull_pair, 2, "smull r5, r6, r3, r7; smull r8, r9, r3, r7"
    snippet p_smlal_chain, 1, "smlal r5, r6, r3, r7"
    snippet p_dot_unit, 8, "ldr.w r5, [r1]; ldr.w r6, [r1, #4]; sxtb16 r8, r5; sxtb16 r9, r6; sxtb16 r5, r5, ror #8; sxtb16 r6, r6, ror #8; smlad r10, r8, r9, r10; smlad r10, r5, r6, r10"
    numbers p_udiv, 1, "udiv r5, r1, r2"
    numbers p_sdiv, 1, "sdiv r5, r1, r2"
    numbers p_udiv_beside_add, 2, "udiv r5, r1, r2; add.w r6, r3, r7"

/* loads */
    snippet p_ldr, 1, "ldr.w r5, [r1]"
    snippet p_ldr_narrow, 1, "ldr.n r5, [r1]"
    snippet p_ldr_narrow_banks, 2, "ldr.n r5, [r1]; ldr.n r6, [r1, #4]"
    snippet p_ldr_banks, 2, "ldr.w r5, [r1]; ldr.w r6, [r1, #4]"
    snippet p_ldr_same_bank, 2, "ldr.w r5, [r1]; ldr.w r6, [r1, #8]"
    snippet p_ldr_two_places, 2, "ldr.w r5, [r1]; ldr.w r6, [r2, #4]"
    halfword p_ldr_at_halfword, 1, "ldr.w r5, [r1]"
    snippet p_ldr_nop, 2, "ldr.n r5, [r1]; nop.n"
    snippet p_ldr_beside_add, 2, "ldr.w r5, [r1]; add.w r6, r3, r7"
    snippet p_ldr_use, 2, "ldr.w r5, [r1]; add.w r6, r6, r5"
    snippet p_ldr_use_shifted, 2, "ldr.w r5, [r1]; add.w r6, r6, r5, lsl #1"
    snippet p_ldr_use_later, 4, "ldr.w r5, [r1]; add.w r8, r3, r7; add.w r9, r3, r7; add.w r6, r6, r5"
    snippet p_ldr_chain, 1, "ldr.w r5, [r5]", "str r1, [r1]; mov r5, r1"
    snippet p_ldr_index, 1, "ldr.w r5, [r1, r4]"
    snippet p_ldr_post, 2, "ldr.w r5, [r1], #4; ldr.w r6, [r1], #-4"
    snippet p_ldr_post_two, 4, "ldr r5, [r1], #4; ldr r6, [r8], #4; ldr r5, [r1], #-4; ldr r6, [r8], #-4", "mov r8, r2"
    snippet p_ldr_mul, 2, "ldr.w r5, [r1]; mul r6, r5, r3"
    snippet p_ldr_accumulate, 2, "ldr.w r5, [r1]; mla r6, r3, r7, r5"
    snippet p_ldrb, 1, "ldrb.w r5, [r1]"
    snippet p_ldrb_use, 2, "ldrb.w r5, [r1]; add.w r6, r6, r5"
    snippet p_ldrb_chain, 1, "ldrb.w r5, [r1, r5]", "str r4, [r1]"
    snippet p_ldrh_use, 2, "ldrh.w r5, [r1]; add.w r6, r6, r5"
    snippet p_ldr_unaligned, 1, "ldr.w r5, [r1, #1]"
    snippet p_ldr_unaligned_halfword, 1, "ldr.w r5, [r1, #2]"
    snippet p_ldrh_unaligned, 1, "ldrh.w r5, [r1, #1]"
    snippet p_address, 2, "add.w r5, r1, #4; ldr.w r6, [r5]"
    snippet p_address_later, 4, "add.w r5, r1, #4; add.w r8, r3, r7; add.w r9, r3, r7; ldr.w r6, [r5]"
    snippet p_ldrd, 1, "ldrd r5, r6, [r1]"
    snippet p_ldm2, 1, "ldm.w r1, {r5, r6}"
    snippet p_ldm4, 1, "ldm.w r1, {r5, r6, r8, r9}"
    snippet p_ldm5, 1, "ldm.w r1, {r5, r6, r8, r9, r10}"
    snippet p_ldm7, 1, "ldm.w r1, {r5, r6, r8-r12}"

/* stores */
    snippet p_str, 1, "str.w r5, [r1]"
    snippet p_str_banks, 2, "str.w r5, [r1]; str.w r6, [r1, #4]"
    snippet p_str_index, 1, "str.w r5, [r1, r4]"
    snippet p_str_beside_add, 2, "str.w r5, [r1]; add.w r6, r3, r7"
    snippet p_ldr_str, 2, "ldr.w r5, [r1]; str.w r5, [r1, #4]"
    snippet p_str_ldr, 2, "str.w r5, [r1]; ldr.w r6, [r1, #4]"
    snippet p_str_unaligned, 1, "str.w r5, [r1, #1]"
    snippet p_strb_same, 1, "strb.w r5, [r1]"
    snippet p_strb_banks, 2, "strb.w r5, [r1]; strb.w r6, [r1, #4]"
    prologue p_strb_stride, UNITS
    bl p_setup
    .p2align 4
88: .set offset, 0
    .rept UNITS
    strb.w r5, [r1, #offset]
    .set offset, offset + 1
    .endr
    close p_strb_stride
    snippet p_strh_same, 1, "strh.w r5, [r1]"
    snippet p_strd, 1, "strd r5, r6, [r1]"
    snippet p_stm4, 1, "stm.w r1, {r5, r6, r8, r9}"
    snippet p_stm4_at_word, 1, "stm.w r12, {r5, r6, r8, r9}", "add r12, r1, #4"
    snippet p_stm7, 1, "stm.w r1, {r5, r6, r8-r12}"
    snippet p_push_pop, 2, "push {r4-r7}; pop {r4-r7}"

/* branches */
    snippet p_branch, 1, "b.w 2f; 2:"
    snippet p_branch_over, 1, "b.n 2f; nop.n; 2:"
    snippet p_branch_to_wide, 2, "b.n 2f; nop.n; 2: add.w r5, r3, r7"
    snippet p_branch_to_wide_at_halfword, 3, "b.n 2f; 2: add.w r5, r3, r7; nop.n"
    flagged p_branch_not_taken, 1, "bne.n 2f; 2:"
    flagged p_branch_not_taken_add, 2, "bne.n 2f; 2: add.w r5, r3, r7"
    snippet p_cbz_taken, 1, "cbz r4, 2f; nop.n; 2:"
    snippet p_cbz_not_taken, 2, "cbz r7, 2f; nop.n; 2:"
    snippet p_call, 2, "bl p_return"
    snippet p_call_register, 2, "blx r12", "ldr r12, =p_return"
    snippet p_bx, 2, "adr.w r5, 2f + 1; bx r5; nop.n; 2:"
    snippet p_tbb, 1, "tbb [pc, r4]; .byte 1, 0; 2:"

/* predication: Z is set */
    flagged p_it_passed, 2, "it eq; addeq.w r5, r3, r7"
    flagged p_it_failed, 2, "it ne; addne.w r5, r3, r7"
    flagged p_itttt_passed, 5, "itttt eq; addeq.w r5, r3, r7; addeq.w r6, r3, r7; addeq.w r8, r3, r7; addeq.w r9, r3, r7"
    flagged p_itttt_failed, 5, "itttt ne; addne.w r5, r3, r7; addne.w r6, r3, r7; addne.w r8, r3, r7; addne.w r9, r3, r7"
    flagged p_it_ldr_passed, 2, "it eq; ldreq.w r5, [r1]"
    flagged p_it_ldr_failed, 2, "it ne; ldrne.w r5, [r1]"
    flagged p_it_ldm_failed, 2, "it ne; ldmne.w r1, {r5, r6, r8, r9}"
    flagged p_ite_ldr_str, 3, "ite eq; ldreq.w r5, [r1]; strne.w r5, [r1]"

/* floating point, single precision */
    floating p_vadd_chain, 1, "vadd.f32 s0, s0, s1"
    floating p_vadd, 2, "vadd.f32 s2, s0, s1; vadd.f32 s3, s0, s1"
    floating p_vmul_chain, 1, "vmul.f32 s0, s0, s1"
    floating p_vfma_chain, 1, "vfma.f32 s0, s1, s2"
    floating p_vfma_three, 3, "vfma.f32 s0, s1, s2; vfma.f32 s3, s1, s2; vfma.f32 s4, s1, s2"
    floating p_vmla_chain, 1, "vmla.f32 s0, s1, s2"
    floating p_vdiv, 1, "vdiv.f32 s0, s1, s2"
    floating p_vdiv_beside_add, 5, "vdiv.f32 s0, s1, s2; add.w r5, r3, r7; add.w r6, r3, r7; add.w r8, r3, r7; add.w r9, r3, r7"
    floating p_vsqrt, 1, "vsqrt.f32 s0, s1"
    floating p_vldr, 1, "vldr s0, [r1]"
    floating p_vldr_vadd, 2, "vldr s0, [r1]; vadd.f32 s3, s0, s1"
    floating p_vldr_double, 1, "vldr d0, [r1]"
    floating p_vstr, 1, "vstr s0, [r1]"
    floating p_vldm4, 1, "vldm r1, {s0-s3}"
    floating p_vstm4, 1, "vstm r1, {s0-s3}"
    floating p_vmov_to_core, 1, "vmov r5, s0"
    floating p_vmov_pair_to_core, 1, "vmov r5, r6, s0, s1"
    floating p_vadd_beside_add, 2, "vadd.f32 s2, s0, s1; add.w r5, r3, r7"

    .section .rodata.p_table, "a"
    .word 0, 0, 0
    .size p_table, . - p_table
