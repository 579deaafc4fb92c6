"""The rules that findings break, in one table: those of programs, of firmware, and of what firmware does to registers.

A rule is a name and what breaks it. What is to be done stands where a finding is made: for programs in
:mod:`mcusim.verification.proof` and :mod:`mcusim.verification.sanitizer`, for firmware in
:mod:`mcusim.verification.firmware`, for registers in :mod:`mcusim.soc`.
"""

from __future__ import annotations

from collections.abc import Mapping

PROGRAM: Mapping[str, str] = {
    "unordered": "two tasks touch the same bytes, one writes, and nothing orders them",
    "unwritten": "a task reads bytes that were never written",
    "wrong-data": "a kernel call finds other data in a buffer than its operator and tile need",
    "missing-clean": "the DMA reads bytes that the core wrote and that may still be in its cache",
    "missing-invalidate": "the core reads bytes that the DMA wrote while its cache may hold older ones",
    "dirty-target": "the DMA writes bytes whose dirty cache line may be written back over them",
    "shared-line": "a cache line contains bytes of the core and of the DMA: maintenance of one destroys the other",
    "lost-store": "an invalidate destroys what the core wrote and memory has not",
    "alignment": "a transfer's address or size is not a multiple of its beat",
    "units": "a transfer has more units than a stream counts",
    "reach": "the DMA does not reach the memory",
    "bounds": "bytes lie outside the machine's memory, or in one that cannot be written",
    "priority": "an input tile that a kernel call waits for gives way to what is needed later: slow, not wrong",
    "kernel-fault": "a compiled kernel broke a rule while it ran",
}
REGISTERS: Mapping[str, str] = {
    "sdram-not-ready": "SDRAM is used before the FMC has started it, or at an address that is not mapped to it",
    "undescribed-block": "a register block without a description is used as storage (lenient)",
    "no-answer": "a register block, or what is connected to it, is used in a way that it does not answer",
    "flash-store": "a store to flash that is not open for it: locked, or without PG",
    "flash-error": "a store to flash that its controller refuses with an error flag",
    "flash-not-erased": "flash is programmed whose bits are clear already",
    "other-set-up": "on the machine that the firmware has set up it sets up another one",
    "cache-off-dirty": "a dirty line of the data cache is accessed while the cache is off",
    "cache-not-invalidated": "a cache is used that was not invalidated after the reset",
    "stale-flash": "a line of the data cache is read that is older than the flash behind it",
    "flag-read-modify-write": "flags that a stored 0 clears are cleared unseen by a load, a change and a store",
    "locked-register": "a register is stored to that takes no store while it is locked",
    "region-misaligned": "an MPU region does not begin at a multiple of its size",
    "reserved-encoding": "an MPU region is on whose attributes are reserved",
    "no-such-region": "an MPU region is switched on that the part does not have",
    "silent-interrupt": "an interrupt is enabled that nothing here requests",
    "no-such-interrupt": "an interrupt is enabled that the part does not have",
}
# what is wrong whatever a program is for; the others may be meant, or are about what is modelled here
MISTAKES = (
    "flash-store",
    "flash-error",
    "flash-not-erased",
    "cache-off-dirty",
    "cache-not-invalidated",
    "stale-flash",
    "flag-read-modify-write",
    "locked-register",
    "region-misaligned",
    "reserved-encoding",
    "no-such-region",
)
FIRMWARE: Mapping[str, str] = {
    "missing-invalidate": "the core reads bytes that the DMA wrote while its cache may hold older ones",
    "missing-clean": "the DMA reads bytes that the core wrote and that may still be in its cache",
    "dirty-target": "the DMA writes bytes whose dirty cache line may be written back over them",
    "shared-line": "a cache line contains bytes of a DMA buffer and others that the core writes",
    "lost-store": "an invalidate destroyed what the core wrote and memory had not",
    "read-early": "a buffer is read before the program knows that its transfer has ended",
    "overwritten-in-use": "a transfer writes to a buffer that a function is reading",
    "source-overwritten": "the core writes to a transfer's source before the program knows that it has ended",
    "target-written": "the core writes to a transfer's target before the program knows that it has ended",
    "transfers-overlap": "a transfer uses bytes of another one of whose end the program does not know",
    "parts-misaligned": "a transfer goes on where the last one ended in its target, but not in its source",
    "never-transferred": "bytes behind the last one that a transfer wrote are read as if they were part of it",
    "beyond-variable": "a transfer goes past the end of the variable it begins in",
    "transfer-error": "a transfer ended by an error",
    "not-clocked": "a DMA controller is used whose clock is off",
    "not-incremented": "a transfer stays at one address of a variable that has all of its bytes",
    "race": "a word is changed in two steps that an interrupt handler changes too",
    "kept-in-register": "a loop waits for a variable that was read once, before it",
    "stuck-handler": "an interrupt's handler does not come to an end",
    "not-enabled": "the program waits for an interrupt that the NVIC does not let through",
    **{rule: REGISTERS[rule] for rule in MISTAKES},
}
