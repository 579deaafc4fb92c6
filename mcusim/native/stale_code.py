"""Compiled code on disk is thrown away when any source of native code has changed.

numba looks at the file of a function alone, but native functions of this package are compiled into each other across
files: after an edit (or an upgrade in place) a caller's stored code would still hold the old callee.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SOURCES = ("native", "memory", "cpu", "kernels", "nas_search/placement")
_STAMP = "native.stamp"


def fingerprint() -> str:
    """Name, time and size of every source below the folders of native code."""
    digest = hashlib.sha256()
    for folder in SOURCES:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            status = path.stat()
            digest.update(f"{path.relative_to(PACKAGE)} {status.st_mtime_ns} {status.st_size}\n".encode())
    return digest.hexdigest()


def forget_outdated() -> str:
    """Remove stored code that other sources made; returns :func:`fingerprint`.

    Does nothing where the package's folder cannot be written; code that is stored elsewhere has the fingerprint in its
    key.
    """
    stamp = PACKAGE / "native" / "__pycache__" / _STAMP
    now = fingerprint()
    with suppress(OSError):
        if stamp.is_file() and stamp.read_text(encoding="ascii") == now:
            return now
        for folder in SOURCES:
            for index in (PACKAGE / folder).rglob("*.nbi"):
                index.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(now, encoding="ascii")
    return now
