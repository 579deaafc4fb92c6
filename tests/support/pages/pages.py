"""HTML reports taken apart, and looked at by a browser where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from plotly.offline import get_plotlyjs

from tests.support.other_processes import LONGEST_WAIT

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


def seen_by_browser(html: str, tmp_path: Path, script: str, width: int = 1280) -> str:
    """The page's title, which ``script`` sets; the test is skipped without a Chromium and fails with its errors."""
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next((found for name in names if (found := shutil.which(name))), None)
    if chromium is None:
        pytest.skip(f"no browser: none of {', '.join(names)}")
    file = tmp_path / "page.html"
    file.write_text(html.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"]
    command += [f"--window-size={width},1200", f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr"]
    command += ["--virtual-time-budget=9000"]
    done = subprocess.run([*command, file.as_uri()], capture_output=True, text=True, timeout=LONGEST_WAIT, check=False)
    message = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert done.returncode == 0 and not message, message or done.stderr[-2000:]
    found = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert found, done.stdout[:500]
    return found[1]
