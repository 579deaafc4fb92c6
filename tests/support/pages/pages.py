"""HTML reports taken apart, and looked at by a browser where there is one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from plotly.offline import get_plotlyjs

LOADS = re.compile(
    r"https?://|//\w+\.|\burl\(|@import|\bfetch\(|XMLHttpRequest|\bimport\(|\bopen\(|sendBeacon|WebSocket"
)


@dataclass
class Page(HTMLParser):
    """``own`` is the page without plotly.js; ``figures`` are the plots, ``text`` what is between the tags."""

    html: str
    figures: list[dict[str, Any]] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.own = self.html.replace(get_plotlyjs(), "")
        self.feed(self.own)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        if tag == "script" and attributes.get("type") == "application/json":
            self.figures.append(json.loads(data))
            self.tags.append(("", {}))
        elif tag not in ("script", "style"):
            self.text += data

    def names(self) -> list[str]:
        return [tag for tag, _ in self.tags if tag]


def asks_for_nothing(page: Page) -> bool:
    """Does no part of the page that is ours load anything or run a script of a name's making."""
    attributes = {name for _, found in page.tags for name in found}
    handlers = [name for name in attributes if name.startswith("on")]
    return not handlers and not attributes & {"src", "href", "srcset", "action"} and not LOADS.search(page.own)
