"""How much memory a part of the tests takes, whatever the process had before."""

from __future__ import annotations

import re
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Grown:
    """``bytes``: the most that this process has had since this was made, beyond what it had then; 0 where the system
    does not say."""

    def __init__(self) -> None:
        self._known = STATUS.is_file() and CLEAR.exists()
        if self._known:
            CLEAR.write_text("5", encoding="ascii")  # the most ever becomes what there is now
            self._start = self._now("VmRSS")

    @property
    def bytes(self) -> int:
        return self._now("VmHWM") - self._start if self._known else 0

    def _now(self, name: str) -> int:
        found = re.search(rf"{name}:\s*(\d+) kB", STATUS.read_text(encoding="ascii"))
        assert found is not None
        return int(found[1]) * 1024
