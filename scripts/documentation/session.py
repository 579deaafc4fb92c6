"""A page as a session: its blocks are run in order in one empty folder, in this process.

The folder shows ``machine_configs``, ``mcusim``, ``tests`` and ``traces`` of the checkout, so that commands can name
their files. A command has to end with status 0, or with the one that a comment on its
line names (``# exit status 1: ...``).

A block whose title is a file of the package gives the folder a copy of the package with that file in it; a file that
exists has the block added at its end. The page's later blocks run with the copy, each in a process of its own.

Not modelled: quoting beyond words, more than one command a line; ``> FILE`` and ``| head -N`` at the end of a line are
understood.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from documentation import TOP
from documentation.blocks import RUN, Block, rewrite, stray_fences

_SHOWN = ("machine_configs", "mcusim", "tests", "traces")
_COPIED = ("machine_configs", "mcusim")
_STATUS = re.compile(r"#.*\bexit status (\d+)")


class PageError(Exception):
    """A block that cannot be run, or did not do what the page says."""


def run_page(name: str, text: str) -> str:
    """``text`` of page ``name`` with the outputs of its blocks as they are now. Raises PageError."""
    if lines := stray_fences(text):
        raise PageError(f"{name}:{lines[0]}: a fence has to start in the first column")
    session = _Session(name)
    with _empty_folder():
        return rewrite(text, session.run)


class _Session:
    """The names that a page's Python blocks share, and its place in messages."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: dict[str, Any] = {"__name__": "page"}
        self.own_package = False

    def run(self, block: Block) -> str | None:
        if block.reason is not None:
            return None
        if block.title is not None:
            self._write(Path(block.title), block.code)
        if block.title is not None or block.language not in RUN:
            return None
        with _terminal() as (printed, errors):
            try:
                self._execute(block, printed, errors)
            except PageError:
                raise
            except (Exception, SystemExit):
                raise PageError(f"{self.name}:{block.line}: {traceback.format_exc(limit=-3)}") from None
        lines = "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())
        return lines if block.language == "python" or block.shows_output else None

    def _write(self, path: Path, code: str) -> None:
        """A file for the later blocks; one of the package goes into a copy of it."""
        if path.parts[0] in _COPIED and not self.own_package:
            self.own_package = True
            for name in _COPIED:
                Path(name).unlink()
                shutil.copytree(TOP / name, name)  # with the times of files: compiled code stays valid
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if path.parts[0] in _COPIED else "w", encoding="utf-8") as file:
            file.write(code)

    def _execute(self, block: Block, printed: io.StringIO, errors: io.StringIO) -> None:
        if block.language == "python" and self.own_package:
            status, output = _apart("-c", block.code)
            if status:
                raise PageError(f"{self.name}:{block.line}: {output}")
            printed.write(output)
        elif block.language == "python":
            exec(compile(block.code, f"{self.name}:{block.line}", "exec"), self.names)
        else:
            self._commands(block, printed, errors)

    def _commands(self, block: Block, printed: io.StringIO, errors: io.StringIO) -> None:
        for line in block.code.replace("\\\n", " ").splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            self._command(line, block, printed, errors)

    def _command(self, line: str, block: Block, printed: io.StringIO, errors: io.StringIO) -> None:
        from mcusim.commands.app import main

        words = shlex.split(line, comments=True)
        if not words or words[0] != "mcusim":
            raise PageError(f"{self.name}:{block.line}: {line!r} is not a command of mcusim: say why it is not run")
        target = words[words.index(">") + 1] if ">" in words else None
        first = re.search(r" \| head -(\d+)$", line)
        start, error_start = printed.tell(), errors.tell()
        arguments = words[1 : words.index(">") if target else words.index("|") if first else None]
        if self.own_package:
            status, output = _apart("-m", "mcusim", *arguments)
            (errors if status == 2 else printed).write(output)
        else:
            status = main(arguments)
        found = _STATUS.search(line)
        if status != (int(found[1]) if found else 0):
            raise PageError(
                f"{self.name}:{block.line}: {line}: exit status {status}: {errors.getvalue()[error_start:]}"
            )
        if status == 2:
            printed.write(errors.getvalue()[error_start:])
        if target or first:
            text = printed.getvalue()[start:]
            printed.seek(start)
            printed.truncate()
            if target:
                Path(target).write_text(text, encoding="utf-8")
            printed.write("".join(text.splitlines(keepends=True)[: int(first[1]) if first else 0]))


def _apart(*arguments: str) -> tuple[int, str]:
    """Exit status and output of Python with the package of this folder; of a failure what it says of it."""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd()), "COLUMNS": "80"}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout if done.returncode in (0, 1) and done.stdout else done.stderr


class _Stream(io.StringIO):
    """A text stream with bytes below it, as a terminal's has."""

    @property
    def buffer(self) -> Any:
        return _Bytes(self)


class _Bytes(io.RawIOBase):
    def __init__(self, text: io.StringIO) -> None:
        self.text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.text.write(bytes(data).decode("utf-8"))
        return len(data)


@contextlib.contextmanager
def _terminal() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Standard output and error, 80 columns wide."""
    printed, errors = _Stream(), _Stream()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        os.environ["COLUMNS"] = "80"
        os.environ["MCUSIM_NO_CONFIG"] = "1"
        yield printed, errors


@contextlib.contextmanager
def _empty_folder() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="mcusim-docs-") as folder, contextlib.chdir(folder):
        for name in _SHOWN:
            Path(name).symlink_to(TOP / name)
        yield
