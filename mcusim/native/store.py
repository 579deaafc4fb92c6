"""Objects of native code on disk: kept beside the package, or in the user's cache where that cannot be written.

A file is one line with the digest of all behind it, one of JSON (what the object is, and what it exports and imports),
and the code. A damaged one, or one that another processor, compiler or source made, counts as none. Of several
processes that want an object at once, one builds it and the others wait (POSIX locks, which end with their process).

Not modelled: locks on network file systems that have none; there an object may be built twice.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from mcusim.native.compile_progress import not_kept
from mcusim.native.objects import PACKAGE, key

_ANY_KEY = "?" * 16
_KEPT = 8  # of one name in a folder, which several versions or environments may share
_TRANSLATIONS = "translations.bc"


class NativeObject(NamedTuple):
    """Object files, the symbols that they export, and by symbol the modules that declare what they import."""

    exports: list[str]
    imports: dict[str, str]
    files: list[bytes]


def folders() -> list[Path]:
    """Where objects may lie, the best first."""
    cached = Path(os.environ.get("XDG_CACHE_HOME") or "")
    with suppress(RuntimeError):  # a user without a home
        cached = cached if cached.is_absolute() else Path.home() / ".cache"
    return [PACKAGE / "native" / "__pycache__", *([cached / "mcusim"] if cached.is_absolute() else [])]


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}-{key()}.o"


def read(name: str) -> NativeObject | None:
    """The object of that name, None where there is none."""
    for folder in folders():
        with suppress(OSError, ValueError, KeyError, TypeError):
            digest, _, rest = _file(folder, name).read_bytes().partition(b"\n")
            if digest.decode() != hashlib.sha256(rest).hexdigest():
                continue
            header, _, code = rest.partition(b"\n")
            described = json.loads(header)
            if (described["name"], described["key"]) == (name, key()):
                files = [*_parts(code, described["sizes"])]
                return NativeObject(described["exports"], described["imports"], files)
    return None


def _parts(code: bytes, sizes: list[int]) -> Iterator[bytes]:
    begin = 0
    for size in sizes:
        yield code[begin : begin + size]
        begin += size


def write(name: str, made: NativeObject) -> None:
    """Into the first folder that takes it, in place of the oldest there; where none does, one line says so."""
    described = {
        "name": name,
        "key": key(),
        "exports": made.exports,
        "imports": made.imports,
        "sizes": [*map(len, made.files)],
    }
    rest = json.dumps(described).encode() + b"\n" + b"".join(made.files)
    content = hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest
    reasons = []
    for folder in folders():
        try:
            _write(folder, name, content)
            return
        except OSError as error:
            reasons.append(f"{folder}: {error.strerror or error}")
    not_kept("; ".join(reasons) or "no home folder, and XDG_CACHE_HOME is not set")


def _replace(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    made = file.parent / f".{file.stem}-{os.getpid()}"
    try:
        made.write_bytes(content)
        made.replace(file)
    finally:
        with suppress(OSError):
            made.unlink(missing_ok=True)


def _write(folder: Path, name: str, content: bytes) -> None:
    _replace(_file(folder, name), content)
    with suppress(OSError):
        stored = sorted(folder.glob(f"{name}-{_ANY_KEY}.o"), key=lambda file: file.stat().st_mtime_ns)
        for old in stored[:-_KEPT]:
            old.unlink(missing_ok=True)


@contextmanager
def locked(name: str) -> Iterator[None]:
    """No other process builds the object in this block, where a folder can be written."""
    lock = None
    for folder in folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            lock = (folder / f".{name}.lock").open("wb")
            fcntl.flock(lock, fcntl.LOCK_EX)
            break
    try:
        yield
    finally:
        if lock is not None:
            lock.close()


def read_translations() -> dict[str, bytes]:
    """Bitcode by :func:`~mcusim.native.fingerprint.fingerprint` of its function, as it was kept."""
    kept: dict[str, bytes] = {}
    for folder in folders():
        with suppress(OSError, ValueError, KeyError, zlib.error):
            digest, _, rest = (folder / _TRANSLATIONS).read_bytes().partition(b"\n")
            if digest.decode() == hashlib.sha256(rest).hexdigest():
                header, _, code = rest.partition(b"\n")
                fingerprints, sizes = json.loads(header)
                kept.update(zip(fingerprints, _parts(zlib.decompress(code), sizes), strict=True))
    return kept


def write_translations(kept: dict[str, bytes]) -> None:
    """Into the first folder that takes them; where none does, they are made again."""
    header = json.dumps([[*kept], [len(code) for code in kept.values()]]).encode()
    rest = header + b"\n" + zlib.compress(b"".join(kept.values()), 1)
    content = hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest
    for folder in folders():
        with suppress(OSError):
            _replace(folder / _TRANSLATIONS, content)
            return
