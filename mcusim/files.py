"""Reading and writing whole a file that a user names: regular files, where asked pipes too, read up to a size."""

from __future__ import annotations

import os
import stat
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

from mcusim.errors import UsageError

_IRREGULAR = "not a regular file"


def read_guarded(
    path: Path,
    most: int,
    problem: Callable[[str], Exception],
    *,
    shown: str | None = None,
    too_large: str,
    irregular: str = _IRREGULAR,
    directory: str | None = None,
    missing: str | None = None,
    pipes: bool = False,
) -> bytes:
    """The bytes of the file at ``path``, at most ``most``.

    What is no regular file is not even opened, since a pipe would block; ``pipes``: pipes and character devices
    (``/dev/null``) are read to their end. Raises what ``problem`` makes of
    ``FILE: reason``, FILE being ``shown`` (default: the path); the reason is ``irregular``, ``directory`` (default: the
    same), ``missing`` (default: as the system says it) or ``larger than <most> B`` and ``too_large``.
    """
    name = str(path) if shown is None else shown
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or (pipes and (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)))):
            raise problem(f"{name}: {directory if directory and stat.S_ISDIR(mode) else irregular}")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError) as error:
        if missing and isinstance(error, FileNotFoundError):
            raise problem(f"{name}: {missing}") from None
        raise problem(f"{name[:200]}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > most:
        raise problem(f"{name}: larger than {most:,} B{too_large}")
    return data


def without_mark(data: bytes) -> bytes:
    """``data`` without the byte order mark that some editors put before UTF-8."""
    return data.removeprefix(BOM_UTF8)


def utf8_text(data: bytes, problem: Callable[[str], Exception], shown: str | Path) -> str:
    """``data`` as text, a byte order mark left out. Raises what ``problem`` makes of file, line and byte."""
    data = without_mark(data)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise problem(f"{shown}:{line}: not UTF-8 text (byte {data[error.start]:#04x})") from None


def write_whole(path: Path, data: bytes, force: bool) -> None:
    """Write ``data`` through a temporary file in the folder of ``path``: a reader sees the old content or all of the
    new. Raises UsageError for a file that exists unless ``force``, and for one that cannot be written."""
    if path.exists() and not path.is_file():
        raise UsageError(f"cannot write {path}: {_IRREGULAR}")
    if (path.exists() or path.is_symlink()) and not force:
        raise UsageError(f"{path} exists; force=True overwrites it")
    temporary = None
    try:
        handle, name = tempfile.mkstemp(prefix=".mcusim.", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
