"""What the sanitizer saw: a finding of the static proof's kinds, and where and when in a run it happened.

Not modelled: the values of the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcusim.verification.findings import Finding

_PLACE = (
    "operator", "type", "tile", "tiles", "buffer", "address", "line", "pc", "source", "function", "cycle", "times"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Observation:
    """``finding`` at byte ``address`` of ``buffer``, while operator ``operator`` computed ``tile`` of ``tiles``.

    ``line``: first address of the cache line, None where none is concerned. ``pc``, ``function`` and ``source``
    (``conv.c:120``) are the core's load; None where the DMA read or wrote, as ``cycle`` is for what no moment showed
    (false sharing that did nothing in this run). ``times``: bytes or accesses that showed the same.
    """

    finding: Finding
    operator: int
    type: str
    tile: int
    tiles: int
    buffer: str
    address: int
    line: int | None = None
    pc: int | None = None
    source: str | None = None
    function: str | None = None
    cycle: int | None = None
    times: int = 1

    def to_json(self) -> dict[str, Any]:
        """The finding's JSON with the other fields added."""
        rest = {name: getattr(self, name) for name in _PLACE}
        return {**self.finding.to_json(), **rest}
