"""Builds the site with MkDocs and checks its links.

MkDocs itself, in strict mode, checks links between pages, anchors, images and the navigation. Checked here, in the HTML
that came out and in the Markdown files outside the site: that nothing is loaded from the network, that links in raw
HTML lead somewhere, and that every file of the checkout that a page names exists.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from documentation import TOP

_LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
_FILE = re.compile(
    r"`(?:[\w. -]+ )?((?:mcusim|tests|scripts|machine_configs|traces|docs)/[\w./*-]+)(?:::\w+)?(?: [^`]*)?`"
)
_TARGET = re.compile(r"\]\(([^)\s]+)\)")


def build(folder: Path) -> list[str]:
    """Build the site into ``folder``; what is wrong with it."""
    if find_spec("mkdocs") is None:
        return ["the site is not built: mkdocs is not installed; pip install '.[docs]'"]
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "-f",
        TOP / "docs" / "mkdocs.yml",
        "-d",
        folder,
    ]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    printed = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    if done.returncode or printed:
        return printed or [f"mkdocs build: exit status {done.returncode}"]
    return [problem for page in sorted(folder.rglob("*.html")) for problem in wrong_links(page, folder)]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, name, value) for name, value in attributes if name in ("href", "src") and value]


def wrong_links(page: Path, folder: Path) -> Iterator[str]:
    """Links of an HTML file of the site that lead nowhere, and what it loads from the network."""
    links = _Links()
    links.feed(page.read_text(encoding="utf-8"))
    for tag, name, value in links.found:
        parts = urlsplit(value)
        if parts.scheme in ("http", "https") or parts.netloc:
            if (tag, name) in _LOADS and "canonical" not in value:
                yield f"{page.relative_to(folder)}: loads {value} from the network"
        elif parts.path and not parts.scheme and page.name != "404.html":
            target = page.parent / unquote(parts.path)
            if not target.exists():
                yield f"{page.relative_to(folder)}: {tag} {value} leads nowhere"


def missing_links(page: Path) -> Iterator[str]:
    """Relative links of a Markdown file that lead to no file."""
    for target in _TARGET.findall(page.read_text(encoding="utf-8")):
        parts = urlsplit(target)
        if not parts.scheme and parts.path and not (page.parent / unquote(parts.path)).exists():
            yield f"{page.relative_to(TOP)}: link to {target} leads nowhere"


def named_files(page: Path) -> Iterator[str]:
    """Files of the checkout that a page names in code and that are not there; ``NAME`` and ``*`` match anything."""
    for name in sorted(set(_FILE.findall(page.read_text(encoding="utf-8")))):
        if not any(TOP.glob(name.replace("NAME", "*").rstrip("/"))):
            yield f"{page.relative_to(TOP)}: names {name}, which does not exist"
