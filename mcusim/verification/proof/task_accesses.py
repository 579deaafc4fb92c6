"""Which bytes the core's data cache may hold, in whole lines."""

from __future__ import annotations

from collections.abc import Iterator

from mcusim.machine.description import Machine

__all__ = ["Lines"]


class Lines:
    """The data cache of ``machine``; ``bytes`` is 0 without one, or with one switched off."""

    def __init__(self, machine: Machine) -> None:
        cache = machine.data_cache
        self.bytes = cache.line if cache is not None and cache.size else 0
        self._regions: list[tuple[int, int, bool]] = []
        for region in machine.memory.values():
            if self.bytes and region.kind != "tcm" and region.cached:
                keeps = cache is not None and cache.policy == "write-back" and region.attribute == "write-back"
                self._regions.append((region.base, region.end, keeps))

    def parts(self, low: int, high: int) -> Iterator[tuple[int, int, bool]]:
        """The parts of ``low`` to ``high`` that the cache may hold; True where it keeps writes (write-back)."""
        for base, end, keeps in self._regions:
            if max(low, base) < min(high, end):
                yield max(low, base), min(high, end), keeps

    def around(self, low: int, high: int) -> tuple[int, int]:
        """``low`` to ``high`` rounded outwards to whole lines."""
        return low // self.bytes * self.bytes, -(-high // self.bytes) * self.bytes
