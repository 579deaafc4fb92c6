"""The texts of a lab for a terminal and for a page: paragraphs, lists (``- ``), blocks indented by four spaces."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from mcusim.report.html.page import plain

__all__ = ["html", "terminal", "wrapped"]

_WIDTH = 78


def terminal(text: str, width: int = _WIDTH) -> str:
    """Paragraphs wrapped, blocks as they are."""
    found = []
    for kind, lines in _blocks(text):
        if kind == "block":
            found.append("\n".join(lines))
        elif kind == "list":
            found.append("\n".join(wrapped(line, width, "- ", "  ") for line in lines))
        else:
            found.append(wrapped(" ".join(lines), width))
    return "\n\n".join(found)


def wrapped(text: str, width: int, first: str = "", rest: str = "") -> str:
    """One paragraph in lines of ``width``; the first begins with ``first``, the others with ``rest``."""
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(lines)


def html(text: str) -> str:
    """The same as HTML; nothing else in it is markup."""
    found = []
    for kind, lines in _blocks(text):
        if kind == "block":
            found.append(f'<div class="table"><pre>{plain_lines(lines)}</pre></div>')
        elif kind == "list":
            found.append(f"<ul>{''.join(f'<li>{_inline(line)}</li>' for line in lines)}</ul>")
        else:
            found.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "\n".join(found)


def plain_lines(lines: list[str]) -> str:
    return "\n".join(plain(line) for line in textwrap.dedent("\n".join(lines)).splitlines())


def _inline(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", plain(text))


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    for block in re.split(r"\n{2,}", text.strip("\n")):
        lines = block.splitlines()
        if all(line.startswith("    ") for line in lines):
            yield "block", lines
        elif all(line.startswith(("- ", "  ")) for line in lines):
            yield (
                "list",
                [item.strip().replace("\n  ", " ") for item in re.split(r"^- ", block, flags=re.MULTILINE)[1:]],
            )
        else:
            yield "text", lines
