"""Compiled code on disk is thrown away when any source of native code has changed.

numba looks at the file of a function alone, but native functions of this package are compiled into each other across
files: after an edit (or an upgrade in place) a caller's stored code would still hold the old callee.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["forget_outdated"]

_PACKAGE = Path(__file__).resolve().parents[1]
_FOLDERS = ("memory", "cpu", "kernels")
_STAMP = "native.stamp"


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for folder in _FOLDERS:
        with os.scandir(_PACKAGE / folder) as entries:
            sources = sorted(
                (e.name, e.stat().st_mtime_ns, e.stat().st_size) for e in entries if e.name.endswith(".py")
            )
        digest.update(repr((folder, sources)).encode())
    return digest.hexdigest()


def forget_outdated() -> None:
    """Remove stored code that other sources made. Does nothing where the package's folder cannot be written."""
    stamp = _PACKAGE / "memory" / "__pycache__" / _STAMP
    with suppress(OSError):
        now = _fingerprint()
        if stamp.is_file() and stamp.read_text(encoding="ascii") == now:
            return
        for folder in _FOLDERS:
            for index in (_PACKAGE / folder / "__pycache__").glob("*.nbi"):
                index.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(now, encoding="ascii")
