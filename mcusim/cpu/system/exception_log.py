"""What the hooks wrote down of exceptions, added up: latencies, nesting, stacks of tasks; on request all of it.

Not modelled: which task a stack belongs to; one is known by the addresses at which its frames lie.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from mcusim.cpu.system import exception_layout as X

MOST_KEPT = 1 << 20  # entries of the log
MOST_FRAMES = 4096  # addresses of frames on tasks' stacks
STORM = 1000  # entries in a row that no frame was pushed or popped between


class ExceptionLog:
    """``latencies`` in ticks by index; ``depths``: how often so many handlers were active when one began; ``stacks``:
    frame addresses on process stacks, and the lowest address stored to before. ``storm``: the index of an exception
    that lately came again each time its handler had ended, so that nothing else ran; 0 for none. ``left_out``: entries
    not kept."""

    def __init__(self) -> None:
        self.latencies: dict[int, Counter[int]] = defaultdict(Counter)
        self.depths: Counter[int] = Counter()
        self.stacks: dict[int, int] = {}
        self.keeps = False
        self.left_out = self.storm = 0
        self._kept: list[Any] = []
        self._entries = 0

    def add(self, entries: Any) -> None:
        """An array of :class:`~mcusim.cpu.system.exception_layout.LogEntry`."""
        kind = entries["what"] & 15
        began = entries[kind == X.BEGUN]
        index, depth = began["what"] >> 4 & 0xFFF, began["what"] >> 16
        for where, ticks in zip(index.tolist(), (began["time"] - began["first"]).tolist(), strict=True):
            self.latencies[where][ticks] += 1
        self.depths.update(depth.tolist())
        chained = len(began) >= STORM and not np.isin(kind, (X.PUSHED, X.POPPED)).any()
        self.storm = int(np.bincount(index).argmax()) if chained else 0
        pushed = entries[(kind == X.PUSHED) & (entries["second"] > 0)]
        for frame, low in zip(pushed["first"].tolist(), pushed["second"].tolist(), strict=True):
            if frame in self.stacks or len(self.stacks) < MOST_FRAMES:
                self.stacks[frame] = min(low, self.stacks.get(frame, low))
        popped = entries[(kind == X.POPPED) & (entries["second"] & X.ON_PROCESS > 0)]
        for frame in popped["first"].tolist():
            if len(self.stacks) < MOST_FRAMES:
                self.stacks.setdefault(frame, frame)
        if self.keeps:
            self._keep(entries)

    def _keep(self, entries: Any) -> None:
        room = MOST_KEPT - self._entries
        self._kept.append(entries[:room].copy())
        self._entries += min(room, len(entries))
        self.left_out += max(0, len(entries) - room)

    @property
    def entries(self) -> Any:
        """Those that were kept, in order."""
        return np.concatenate(self._kept) if self._kept else np.zeros(0, X.LogEntry.numpy_type())
