"""Instructions that only some cores have, and their bytes, made once by ``arm-none-eabi-as``."""

SINGLE = {  # in every floating-point unit
    "vldr d0, [r1]": "91ed000b",
    "vstr d0, [r1]": "81ed000b",
    "vpush {d8}": "2ded028b",
    "vmov d0, r0, r1": "41ec100b",
    "vmov.32 d0[1], r0": "20ee100b",
    "vmov.f32 s0, #1.0": "b7ee000a",
    "vfma.f32 s0, s1, s2": "a0ee810a",
    "vcvtb.f32.f16 s0, s0": "b2ee400a",
    "vmrs APSR_nzcv, fpscr": "f1ee10fa",
}
DOUBLE = {
    "vadd.f64 d0, d1, d2": "31ee020b",
    "vmul.f64 d0, d1, d2": "21ee020b",
    "vfma.f64 d0, d1, d2": "a1ee020b",
    "vdiv.f64 d0, d1, d2": "81ee020b",
    "vsqrt.f64 d0, d1": "b1eec10b",
    "vcmp.f64 d0, d1": "b4ee410b",
    "vmov.f64 d0, d1": "b0ee410b",
    "vmov.f64 d0, #1.0": "b7ee000b",
    "vcvt.f64.f32 d0, s0": "b7eec00a",
    "vcvt.f32.f64 s0, d1": "b7eec10b",
    "vcvt.s32.f64 s0, d0": "bdeec00b",
    "vcvtb.f64.f16 d0, s0": "b2ee400b",
    "vsel.f64 d0, d1, d2": "01fe020b",
    "vrintz.f64 d0, d1": "b6eec10b",
}
FPV5 = {
    "vseleq.f32 s0, s1, s2": "00fe810a",
    "vmaxnm.f32 s0, s1, s2": "80fe810a",
    "vminnm.f32 s0, s1, s2": "80fec10a",
    "vrintz.f32 s0, s1": "b6eee00a",
    "vrinta.f32 s0, s0": "b8fe400a",
    "vcvta.s32.f32 s0, s0": "bcfec00a",
}
NOWHERE = {  # neither on a Cortex-M4 nor on a Cortex-M7
    "sg": "7fe97fe9",
    "tt r0, r1": "41e800f0",
    "lda r0, [r1]": "d1e8af0f",
    "stl r0, [r1]": "c1e8af0f",
    "ldaexb r0, [r1]": "d1e8cf0f",
    "bxns r1": "0c47",
    "vld1.8 {d0}, [r1]": "21f90f07",
    "vadd.f32 d0, d1, d2": "01ef020d",
    "ldrexd r0, r1, [r1]": "d1e87f01",
    "crc32b r0, r1, r1": "c1fa81f0",
    "setend le": "50b6",
    "mrc p15, 0, r0, c1, c0, 0": "11ee100f",
}
