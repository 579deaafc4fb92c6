"""A device's memory as a session gives it out: first fit, in named regions.

Not modelled: where code or data of a running firmware would be; a session has the memory for itself.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from itertools import count

from mcusim.errors import UsageError
from mcusim.units import quoted

_NUMBERS = count(1)


class SessionHeap:
    """``regions`` by name: first address and bytes. Freed neighbours become one gap again."""

    def __init__(self, regions: Mapping[str, tuple[int, int]]) -> None:
        self.regions = dict(regions)
        self._gaps = {name: [(base, base + size)] for name, (base, size) in regions.items() if size}
        self._given: dict[int, tuple[str, int]] = {}
        self._numbers: dict[int, int] = {}  # of what is given out, by its address

    @property
    def used(self) -> int:
        """Bytes that are given out, in all regions."""
        return sum(size for _, size in self._given.values())

    def given(self) -> list[tuple[int, int]]:
        """First address and bytes of all that is given out."""
        return sorted((address, size) for address, (_, size) in self._given.items())

    def copy(self) -> SessionHeap:
        """One with the same given out."""
        heap = SessionHeap(self.regions)
        heap._gaps = {name: [*gaps] for name, gaps in self._gaps.items()}
        heap._given, heap._numbers = dict(self._given), dict(self._numbers)
        return heap

    def free_bytes(self, region: str) -> int:
        """Bytes of a region that are not given out, in one piece or several."""
        return sum(end - begin for begin, end in self._gaps.get(region, ()))

    def by_region(self) -> dict[str, tuple[int, int]]:
        """Bytes that are given out, and bytes in all, by region."""
        return {name: (size - self.free_bytes(name), size) for name, (_, size) in self.regions.items()}

    def allocate(self, size: int, region: str, alignment: int = 8, guard: int = 0) -> int:
        """An address for ``size`` bytes and ``guard`` more behind them. Raises UsageError for a region that there is
        not, and where there is no room."""
        if region not in self.regions:
            raise UsageError(f"no region {quoted(region)} to allocate in; there are {', '.join(self.regions)}")
        wanted, size = size, max(size, 1) + guard
        gaps = self._gaps.get(region, [])
        for index, (begin, end) in enumerate(gaps):
            at = -(-begin // alignment) * alignment
            if at + size <= end:
                gaps[index : index + 1] = [gap for gap in ((begin, at), (at + size, end)) if gap[0] < gap[1]]
                self._given[at], self._numbers[at] = (region, size), next(_NUMBERS)
                return at
        largest = self._largest(region)
        others = [f"{name} ({self._largest(name):,} B)" for name in self.regions if self._largest(name) >= size]
        hint = f"; there is in {', '.join(others)}: region={others[0].partition(' ')[0]}" if others else ""
        raise UsageError(f"no room for {wanted:,} B in {region}: the largest gap has {largest:,} B{hint}")

    def _largest(self, region: str) -> int:
        return max((end - begin for begin, end in self._gaps.get(region, ())), default=0)

    def number(self, address: int) -> int | None:
        """Which of all that was ever given out is there now; None for nothing."""
        return self._numbers.get(address)

    def release(self, address: int) -> None:
        """Take an address back. Raises UsageError for one that is not given out."""
        if address not in self._given:
            raise UsageError(f"{address:#010x} is not allocated")
        region, size = self._given.pop(address)
        del self._numbers[address]
        gaps = self._gaps[region]
        insort(gaps, (address, address + size))
        merged = gaps[:1]
        for begin, end in gaps[1:]:
            if begin == merged[-1][1]:
                merged[-1] = merged[-1][0], end
            else:
                merged.append((begin, end))
        gaps[:] = merged
