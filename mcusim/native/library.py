"""The stored library of native functions: two objects of machine code, one for replay and one for emulation, that
llvmlite loads.

An object is made at its first use (:mod:`mcusim.native.build`) and kept beside the package, or in the user's cache
where that cannot be written; one line of JSON before the code says what was exported, and the code's digest. Its name
has a key of all it depends on: sources, numba, llvmlite, the processor. A function that is in neither, as a
user's own, gets an object that is held in memory alone.

Not modelled: other processors than the one it was built on.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcusim.native.declarations import EXTERNALS
from mcusim.native.objects import PACKAGE, key, object_of, target_machine

_addresses: dict[str, int] = {}
_names: set[str] = set()  # of the objects that are loaded
_loaded: list[Any] = []  # llvmlite's objects, which hold the machine code


def address(symbol: str) -> int:
    """Where the machine code of a native function begins; loaded, or built first."""
    if symbol not in _addresses:
        prepare(object_of(symbol))
    if symbol not in _addresses:
        _load(symbol, _built(symbol, (symbol,)))
    return _addresses[symbol]


def prepare(name: str) -> None:
    """Load an object, or build it first."""
    if name not in _names:
        _load(name, _stored(name) or _built(name, ()))
        _names.add(name)


def folders() -> list[Path]:
    """Where objects may lie, the best first."""
    cached = Path(os.environ.get("XDG_CACHE_HOME") or "")
    with suppress(RuntimeError):  # a user without a home
        cached = cached if cached.is_absolute() else Path.home() / ".cache"
    return [PACKAGE / "native" / "__pycache__", *([cached / "mcusim"] if cached.is_absolute() else [])]


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}-{key()}.o"


def _stored(name: str) -> bytes | None:
    """The object of that name, None where there is none, or a damaged one."""
    for folder in folders():
        with suppress(OSError, ValueError, KeyError, TypeError):
            content = _file(folder, name).read_bytes()
            header, _, code = content.partition(b"\n")
            if json.loads(header)["sha256"] == hashlib.sha256(code).hexdigest():
                return content
    return None


def _built(name: str, wanted: tuple[str, ...]) -> bytes:
    from mcusim.native.build import build

    exported, code = build(name, wanted)
    header = json.dumps({"exported": exported, "sha256": hashlib.sha256(code).hexdigest()}).encode()
    content = header + b"\n" + code
    if not wanted:
        _store(name, content)
    return content


def _store(name: str, content: bytes) -> None:
    """Into the first folder that takes it, in place of older ones; where none does, it is held in memory alone."""
    for folder in folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            made = folder / f".{name}-{os.getpid()}"
            try:
                made.write_bytes(content)
                made.replace(_file(folder, name))
            finally:
                made.unlink(missing_ok=True)
            for old in folder.glob(f"{name}-????????????????.o"):
                if old != _file(folder, name):
                    old.unlink(missing_ok=True)
            return


def _load(name: str, content: bytes) -> None:
    import llvmlite.binding as llvm

    header, _, code = content.partition(b"\n")
    exported = json.loads(header)["exported"]
    compiler = llvm.create_lljit_compiler(target_machine())
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol, external in EXTERNALS.items():
        builder.import_symbol(symbol, external.address)
    for symbol in exported:
        builder.export_symbol(symbol)
    tracker = builder.link(compiler, f"mcusim.{name}")
    _addresses.update((symbol, tracker[symbol]) for symbol in exported)
    _loaded.extend((compiler, tracker))
