"""Where a command's text and JSON go."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import typer

from mcusim.errors import UsageError
from mcusim.plug_ins import all_known
from mcusim.provenance import made
from mcusim.text import printable

LONGEST_SHOWN = 200  # characters of a word of the user's
_COLOURS = (
    (re.compile(r"^(fits|runs)(?=:)", re.M), "green"),
    (
        re.compile(r"^(does not fit|exceeds the limit of [^:\n]*|would fault|faults|cannot be planned)(?=:|$)", re.M),
        "red",
    ),
    (re.compile(r"^ *warning\b", re.M), "yellow"),
)


def fail(message: str, given: Iterable[str] = (), lines: Sequence[str] = ()) -> None:
    """One plain line on standard error, below it ``lines`` where there are some; what a terminal would not print is
    escaped, and of ``given``, what the user wrote, and of any word no more than 200 characters are repeated."""
    long = sorted({form for word in given for form in _forms(word)}, key=len, reverse=True)

    def shown(line: str) -> str:
        for text in long:
            line = line.replace(text, _cut(text))
        return re.sub(r"\S{201,}", lambda word: _cut(word[0]), printable(re.sub("[\n\r]+", " ", line)))

    note(f"error: {' '.join(shown(message).split())}{':' if lines else ''}")
    for line in lines:
        note(f"  {shown(line)}")


def note(line: str) -> None:
    """A line on standard error, as a terminal prints it."""
    print(printable(line), file=sys.stderr)


def _forms(word: str) -> list[str]:
    """A long word of the command line as messages may have it: as it is, quoted by Python, as the value of a key."""
    parts = (word, *word.split("=", 1)[1:])
    return [form for part in parts for form in (part, repr(part)[1:-1], repr(part[:LONGEST_SHOWN])[1:-1])
            if len(form) > LONGEST_SHOWN]  # fmt: skip


def _cut(text: str) -> str:
    """``text`` with its middle left out when it is longer than 200 characters."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:99]}…{text[-100:]}"


def discard_output() -> None:
    """Nobody reads standard output any more: what is still buffered must not raise again when Python exits."""
    with suppress(OSError, ValueError):  # in a test it is no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class Output:
    """Text to standard output, JSON to ``path``; with the path ``-`` JSON is all that standard output gets.

    An existing file is refused at once, before the work, unless ``force``; one of the ``inputs`` always.
    """

    def __init__(self, path: Path | None, force: bool, inputs: Iterable[str | Path | None] = ()) -> None:
        self.path, self.force = path, force
        self.to_stdout = path is not None and str(path) == "-"
        if path is not None and not self.to_stdout:
            check_apart(path, inputs)
            check_writable(path, force)

    def emit(self, text: Callable[[], str] | None, data: Callable[[], Mapping[str, Any]]) -> None:
        """Write both forms; only those needed are made, the JSON with what made it. Without ``text`` standard output
        gets at most the JSON.

        A reader of standard output that has seen enough ends nothing: the file is written, the status is kept.
        """
        if text is not None and not self.to_stdout:
            _print(coloured(printable(text())))
        if self.path is None:
            return
        fields = dict(data())
        fields.setdefault("made", made(plug_ins=[plug_in.to_json() for plug_in in all_known()]).to_json())
        document = json.dumps(fields, indent=2, allow_nan=False) + "\n"
        if self.to_stdout:
            _print(document, end="")
        else:
            write_file(self.path, lambda file: file.write(document), self.force)


def coloured(text: str) -> str:
    """``text`` with its verdict and warnings in colour where standard output is a terminal, unless NO_COLOR is set."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    for pattern, colour in _COLOURS:
        text = pattern.sub(typer.style(r"\g<0>", fg=colour, bold=True), text)
    return text


def _print(text: str, end: str = "\n") -> None:
    try:
        print(text, end=end, flush=True)
    except BrokenPipeError:
        discard_output()


def check_apart(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """Raise UsageError when ``path`` is one of the files that are read."""
    for text in inputs:
        with suppress(OSError, ValueError):
            if text is not None and path.exists() and path.samefile(text):
                raise UsageError(f"cannot write {path}: it is an input file")


def real(path: Path | str) -> str:
    """Where ``path`` leads; a link to itself leads to itself."""
    return os.path.realpath(path)


def check_writable(path: Path, force: bool) -> None:
    """Raise UsageError when ``path`` cannot be written or exists without ``force``."""
    if path.is_symlink() and not path.exists() and _circle(path):
        raise UsageError(f"cannot write {path}: it is a link to itself; remove it, or name another file")
    if path.is_dir():
        raise UsageError(f"cannot write {path}: it is a directory")
    if (path.exists() or path.is_symlink()) and not force:  # a link to nothing is there too
        raise UsageError(f"{path} exists; --force overwrites it")
    if path.exists() and not path.is_file():  # a device or a pipe: its directory stays as it is
        return
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no directory {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: the directory {path.parent} is read-only")


def _circle(path: Path) -> bool:
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def check_outputs(
    files: Sequence[Path],
    json: Path | None,
    inputs: Iterable[str | Path | None],
    force: bool,
    log: Path | None = None,
    rewritten: Path | None = None,
) -> None:
    """Refuse before the work what could not be written after it: ``files``, besides the JSON of an :class:`Output` and
    a ``log`` that is gone on with.

    Raises UsageError for a path that cannot be written, for one of the ``inputs`` (but ``rewritten``, which is a model
    in another form, with ``force``), for standard output, and when two of them are one file.
    """
    given = list(inputs)
    if log is not None:
        check_apart(log, given)
    written = [*files, *(path for path in (json, log) if path is not None)]
    named = [real(path) for path in written]
    for path in written:
        if named.count(real(path)) > 1:
            raise UsageError(f"{path} is named for two outputs")
    for path in files:
        if str(path) == "-":
            raise UsageError("-: name a file; standard output is for the table, or for --json -")
        if not (force and path == rewritten):
            check_apart(path, given)
        check_writable(path, force)


def check_folder(path: Path | None, force: bool) -> None:
    """Raise UsageError for a folder that cannot be made, is something else, or has files and no ``force``; None is
    none."""
    if path is not None and (not path.parent.is_dir() or (path.exists() and not path.is_dir())):
        raise UsageError(f"cannot write into {path}: it is no folder, or the one it would be in is not there")
    if path is not None and not force and path.is_dir() and any(path.iterdir()):
        raise UsageError(f"{path} has files; --force overwrites those of the same names")


def write_file(path: Path, write: Callable[[TextIO], object], force: bool) -> None:
    """Write through a temporary file in the folder of ``path``, so that a reader sees the old content or the whole new
    one.
    """
    _replace(path, write, force, "w", "utf-8")


def write_bytes(path: Path, data: bytes, force: bool) -> None:
    """:func:`write_file` for bytes."""
    _replace(path, lambda file: file.write(data), force, "wb", None)


def _replace(path: Path, write: Callable[[Any], object], force: bool, mode: str, encoding: str | None) -> None:
    check_writable(path, force)
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced by a rename
        try:
            with path.open(mode, encoding=encoding) as file:
                write(file)
        except BrokenPipeError:  # its reader has seen enough
            raise
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        return
    try:
        # without the file's own name, which may be as long as a name can be
        handle, name = tempfile.mkstemp(prefix=".mcusim.", dir=path.parent)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, mode, encoding=encoding) as file:
            write(file)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        raise
