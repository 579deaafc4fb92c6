"""The fenced blocks of a page: which are run, which are files, and what follows them as their output.

    ```sh                  every line is a command of mcusim (or ``cd``-free shell of one command), run in order
    ```python              run in one namespace, like the cells of a notebook
    ```toml title="x.toml" a file that the page's later blocks use; a title with a slash is a file of the checkout that
                           a reader is to write: it is not run
    ```text                right under a block that is run: what that block prints, kept current

A line ``<!-- not run: REASON -->`` above a block keeps it from being run. Fences start in the first column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

RUN = ("sh", "python")
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+?) -->\n+)?"
    r"```(?P<language>\w+)(?: title=\"(?P<title>[^\"\n]+)\")?\n(?P<code>.*?)^```\n"
    r"(?P<output>\n```text\n.*?^```\n)?",
    re.DOTALL | re.MULTILINE,
)
_INDENTED_FENCE = re.compile(r"^[ \t]+```", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One block: ``line`` counts from 1; ``reason`` says why it is not run; ``title`` is the name of a file."""

    language: str
    code: str
    line: int
    title: str | None = None
    reason: str | None = None
    shows_output: bool = False


def rewrite(text: str, run: Callable[[Block], str | None]) -> str:
    """``text`` with each output replaced by what ``run`` returns for its block; None leaves the block as it is."""

    def replaced(found: re.Match[str]) -> str:
        line = text.count("\n", 0, found.start("language")) + 1
        block = Block(found["language"], found["code"], line, found["title"], found["reason"], bool(found["output"]))
        printed = run(block)
        if printed is None:
            return found[0]
        kept = found[0][: found.start("output") - found.start()] if found["output"] else found[0]
        return kept + (f"\n```text\n{printed}```\n" if printed else "")

    return _BLOCK.sub(replaced, text)


def stray_fences(text: str) -> list[int]:
    """Lines, from 1, of fences that do not start in the first column and would therefore not be run."""
    return [text.count("\n", 0, found.start()) + 1 for found in _INDENTED_FENCE.finditer(text)]
