"""What was written, without what made it: two commands that give the same differ in that alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r',\s*"made": \{.*?"plug_ins": \[[^\]]*\]\s*\}', re.DOTALL)
_FOOTER = re.compile(r"<footer.*?</footer>", re.DOTALL)


def bare(text: str | bytes | Path) -> str:
    """JSON, a program or a page, or the file of one, as text."""
    data = text.read_bytes() if isinstance(text, Path) else text
    return _FOOTER.sub("", _BLOCK.sub("", data.decode("utf-8") if isinstance(data, bytes) else data))


def figures(document: Mapping[str, Any]) -> dict[str, Any]:
    """JSON as read."""
    return {key: value for key, value in document.items() if key != "made"}
