"""SDRAM that does not answer yet: in a run from reset, until the FMC has had its commands and the window is mapped.

Watched are the addresses of each SDRAM; the native hooks note the first access to one. It is a finding where the
program sets up the part by itself (it has stored to RCC or to the FMC); one from before is kept, and is a finding when
that happens later. Where the image has bytes in the SDRAM something else has set it up, until the FMC is commanded.

Not modelled: accesses by DMA and fetches of code (they are not watched), what an SDRAM answers that is not ready.
"""

from __future__ import annotations

from collections.abc import Iterable

from mcusim.machine.description import Machine
from mcusim.soc.peripheral_findings import PeripheralFinding

_FIX = (
    "call the board's SDRAM initialisation before: clock enable, precharge all, auto-refresh and load mode register by"
    " FMC_SDCMR, then the refresh rate in FMC_SDRTR"
)
_SWAPPED = (0x6, 0x7)  # the windows of bank 1 and 2 with SWP_FMC, by the address's uppermost digit
_SWAP = "bank swap (SYSCFG_MEMRMP.SWP_FMC)"


def _bank(base: int) -> int:
    """1 at 0x6000_0000 and 0xC000_0000, 2 at 0x7000_0000 and 0xD000_0000."""
    return 1 + (base >> 28 & 1)


class SdramWatch:
    """``watched``: first address and end of the windows whose next access is to be noted."""

    def __init__(self, machine: Machine, swaps: bool) -> None:
        self._windows = {
            base: base + region.size
            for region in machine.memory.values()
            if region.kind == "sdram"
            for base in (region.base, *region.aliases)
        }
        self._swaps = swaps  # whether the part has SWP_FMC
        self._swapped = False
        self._missing = {1: "clock enable", 2: "clock enable (FMC_SDCMR mode 1)"}
        self._active: set[int] = set()
        self._kept: list[tuple[int, PeripheralFinding]] = []
        self._own = self._commanded = False
        self._loaded: set[int] = set()
        self.changed = False  # ``watched`` is not what it was

    @property
    def watched(self) -> list[tuple[int, int]]:
        return sorted((base, self._windows[base]) for base in self._active if self._lacks(base))

    def begin(self, loaded: Iterable[tuple[int, int]]) -> None:
        """A run from reset; ``loaded``: address and size of what the image has put into memory."""
        self._active = set(self._windows)
        self._loaded = {b for b, end in self._windows.items() for at, size in loaded if b <= at < end and size}
        self.changed = True

    def _lacks(self, base: int) -> str:
        """The step that is missing before the window at ``base`` answers; empty: none."""
        lacking = self._missing[_bank(base)]
        if not lacking and self._swaps and (base >> 28 in _SWAPPED) != self._swapped:
            return _SWAP
        return lacking

    def used(self, address: int, size: int, write: bool, pc: int) -> list[PeripheralFinding]:
        """The first access to a watched window; what it shows now."""
        base = next(b for b, end in self._windows.items() if b <= address < end)
        what = f"a {'store' if write else 'load'} of {size} B at {address:#010x}"
        text = f"{what}: the SDRAM does not answer there yet, missing is {self._lacks(base)}"
        fix = f"set {_SWAP}, or use the other address" if self._lacks(base) == _SWAP else _FIX
        self._kept.append((base, PeripheralFinding("sdram-not-ready", text, fix, pc, address)))
        self._active.discard(base)
        self.changed = True
        return self._shown()

    def sets_up(self) -> list[PeripheralFinding]:
        """The program has stored to RCC or to the FMC."""
        self._own = True
        return self._shown() if self._kept else []

    def commanded(self, missing: dict[int, str]) -> list[PeripheralFinding]:
        """The FMC got a command or its refresh rate; ``missing``: by bank the first step that it still lacks."""
        self._commanded, self._missing, self.changed = True, missing, True
        return self._shown()

    def swap(self, swapped: bool) -> None:
        """SWP_FMC has changed."""
        self._swapped, self.changed = swapped, True

    def _shown(self) -> list[PeripheralFinding]:
        findings = [
            finding for base, finding in self._kept if self._commanded or (self._own and base not in self._loaded)
        ]
        self._kept = [(base, finding) for base, finding in self._kept if finding not in findings]
        return findings
