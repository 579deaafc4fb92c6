"""The ARMv7-M memory protection unit: what its registers say of an address (Arm DDI0403 B3.5).

In handlers of NMI and HardFault it is off, unless HFNMIENA is set. Not modelled: that FAULTMASK turns it off too, and
the rights of unprivileged code, which has those of privileged code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

Access = Literal["none", "ro", "rw"]

ENABLE, PRIVDEFENA = 1, 4  # MPU_CTRL
# AP: what privileged code may do, what unprivileged code may do; 4 is reserved
_ACCESS: tuple[tuple[Access, Access], ...] = (
    ("none", "none"),
    ("rw", "none"),
    ("rw", "ro"),
    ("rw", "rw"),
    ("none", "none"),
    ("ro", "none"),
    ("ro", "ro"),
    ("ro", "ro"),
)


class Attributes(NamedTuple):
    """``cache``: 0 uncached, 1 write-through, 2 write-back; ``allocate``: write misses fill a line."""

    cache: int
    allocate: bool
    device: bool
    executable: bool
    privileged: Access
    unprivileged: Access


@dataclass(frozen=True, slots=True)
class MpuRegion:
    """One region as MPU_RBAR and MPU_RASR define it."""

    rbar: int
    rasr: int

    @property
    def enabled(self) -> bool:
        """Is the region on; one of less than 32 bytes (SIZE below 4) is reserved and counts as off."""
        return bool(self.rasr & 1) and self.size >= 32

    @property
    def size(self) -> int:
        """Bytes: 2 to the power of SIZE + 1."""
        return 2 << (self.rasr >> 1 & 31)

    @property
    def base(self) -> int:
        """First address; bits below the size are ignored."""
        return self.rbar & 0xFFFF_FFFF & -self.size

    @property
    def unaligned(self) -> bool:
        """Whether RBAR has address bits below the size, which the MPU ignores."""
        return (self.rbar & 0xFFFF_FFE0) != self.base

    @property
    def reserved(self) -> str:
        """The fields whose encoding is reserved (DDI0403 tables B3-13 and B3-15); '' for none."""
        tex, c, b = self.rasr >> 19 & 7, self.rasr >> 17 & 1, self.rasr >> 16 & 1
        memory = (tex, c, b) in ((1, 0, 1), (2, 0, 1)) or (tex == 2 and c) or tex == 3
        texts = [f"TEX {tex}, C {c}, B {b}"] if memory else []
        return " and ".join([*texts, *(["AP 4"] if self.rasr >> 24 & 7 == 4 else [])])

    def parts(self) -> Iterator[tuple[int, int]]:
        """The address ranges that are not disabled; regions of 256 bytes and more have eight subregions."""
        if self.size < 256:
            yield self.base, self.base + self.size
            return
        part = self.size // 8
        for i in range(8):
            if not self.rasr >> (8 + i) & 1:
                yield self.base + i * part, self.base + (i + 1) * part

    def attributes(self) -> Attributes:
        """TEX, C, B, S, AP and XN decoded (Arm DDI0403 B3.5, MPU_RASR).

        Shared normal memory is not cached, as on the Cortex-M7 (Arm DDI0489F 5.9). Encodings that are reserved or
        left to the implementation count as uncached normal memory. XN alone forbids code: vendors' examples run from
        flash that a region makes strongly-ordered.
        """
        tex, c, b, shared = self.rasr >> 19 & 7, self.rasr >> 17 & 1, self.rasr >> 16 & 1, self.rasr >> 18 & 1
        policy = c << 1 | b
        device = (tex, c) == (0, 0) or (tex, policy) == (2, 0)
        if tex >= 4:  # the inner policy is the level-1 cache's
            cache, allocate = ((0, False), (2, True), (1, False), (2, False))[policy]
        elif tex == 0 and c:
            cache, allocate = (2, False) if b else (1, False)
        else:
            cache, allocate = (2, True) if (tex, policy) == (1, 3) else (0, False)
        if shared:
            cache, allocate = 0, False
        execute = not self.rasr >> 28 & 1
        return Attributes(cache, allocate, device, execute, *_ACCESS[self.rasr >> 24 & 7])


@dataclass(frozen=True, slots=True)
class Mpu:
    """MPU_CTRL and the (RBAR, RASR) of each region, by number."""

    control: int
    regions: tuple[tuple[int, int], ...] = ()

    @property
    def enabled(self) -> bool:
        """MPU_CTRL.ENABLE."""
        return bool(self.control & ENABLE)

    @property
    def default_map(self) -> bool:
        """Does privileged code see the default memory map where no region is (MPU_CTRL.PRIVDEFENA)."""
        return bool(self.control & PRIVDEFENA)

    def mistakes(self) -> Iterator[tuple[int, tuple[str, str, str]]]:
        """Of regions that are on: the number, and rule, text and fix of what the MPU does otherwise than it looks."""
        for number, pair in enumerate(self.regions):
            region = MpuRegion(*pair)
            if not self.enabled or not region.enabled:
                continue
            if region.unaligned:
                given, size = region.rbar & 0xFFFF_FFE0, region.size
                text = (
                    f"MPU region {number} is set up at {given:#010x} with {size:,} B, of which it is no multiple: it"
                    f" begins at {region.base:#010x}, and its attributes are not those of the last"
                    f" {given - region.base:,} B"
                )
                fix = f"let RBAR be a multiple of {size:#x}, or use two regions"
                yield number, ("region-misaligned", text, fix)
            if region.reserved:
                text = (
                    f"MPU region {number} has a reserved encoding, {region.reserved}: a core may take it for anything"
                )
                fix = "choose a defined one, such as TEX 1, C 0, B 0 for normal memory that is not cached"
                yield number, ("reserved-encoding", text, fix)

    def windows(self) -> list[tuple[int, int, Attributes]]:
        """(first address, end, attributes) of all regions that are on; later ones win where they overlap."""
        on = (region for region in (MpuRegion(*pair) for pair in self.regions) if region.enabled)
        return [(low, high, region.attributes()) for region in on for low, high in region.parts()]
