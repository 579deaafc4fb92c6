"""A cache of tags written from the textbook."""

from __future__ import annotations

BASE, LINE = 0x6000_0000, 32


class Reference:
    """Write-back, write-allocate; ``policy`` lru, round-robin, or random by the 16-bit Galois register 0xB400."""

    def __init__(self, size: int, ways: int, policy: str) -> None:
        self.ways, self.policy, self.register = ways, policy, 0xACE1
        self.sets: list[list[int | None]] = [[None] * ways for _ in range(size // ways // LINE)]
        self.recent: list[list[int]] = [list(range(ways)) for _ in self.sets]  # ways, the next to go first
        self.dirty: set[int] = set()
        self.write_backs = 0

    def _victim(self, index: int) -> int:
        if None in self.sets[index]:
            return self.sets[index].index(None)
        if self.policy != "random":
            return self.recent[index][0]
        self.register = (self.register >> 1) ^ (0xB400 if self.register & 1 else 0)
        return self.register % self.ways

    def access(self, address: int, write: bool) -> bool:
        tag = address // LINE
        index = tag % len(self.sets)
        hit = tag in self.sets[index]
        way = self.sets[index].index(tag) if hit else self._victim(index)
        if not hit:
            old, self.sets[index][way] = self.sets[index][way], tag
            self.write_backs += old in self.dirty
            self.dirty.discard(old if old is not None else -1)
        if not hit or self.policy == "lru":
            self.recent[index].remove(way)
            self.recent[index].append(way)
        if write:
            self.dirty.add(tag)
        return hit
