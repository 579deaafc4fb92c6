"""The C files of a kernel set that some of its functions need: their own, what those call, and the headers.

Which file defines a function is in the line table of the set's program. Not modelled: sets built without line numbers
(all their sources are taken), headers whose names are made by macros.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from mcusim.errors import InputError
from mcusim.files import read_guarded
from mcusim.image.image import Image
from mcusim.kernels.compiler import SETS
from mcusim.kernels.kernel_set import KernelSet
from mcusim.kernels.link.trim import trimmed_bytes

LARGEST = 4 << 20
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_COPIES = re.compile(rb"^void \*mem(?:cpy|set)\([^;{]*\)\s*\{", re.MULTILINE)


@dataclass(frozen=True)
class KernelSources:
    """``files``, by their place in the generated folder; of them ``compiled`` are C files, ``copies`` those that define
    memcpy and memset; ``include`` are the folders of headers. ``code``: bytes of the functions needed, as the set was
    built."""

    files: dict[str, bytes]
    compiled: tuple[str, ...]
    copies: tuple[str, ...]
    include: tuple[str, ...]
    code: int


def kernel_sources(kernels: KernelSet, symbols: Collection[str], isa: str) -> KernelSources:
    """What the functions ``symbols`` of a set need. Raises InputError for files that cannot be read."""
    image, folder = kernels.image(isa), kernels.manifest.parent
    code = trimmed_bytes(image, symbols) if symbols else 0
    sources = [Path(os.path.normpath(folder / name)) for name in kernels.sources]
    data = {path: _read(path) for path in sources}
    copies = [path for path in sources if _COPIES.search(data[path])]
    needed = {*_needed(image, symbols, sources), *copies}
    include = [Path(os.path.normpath(folder / name)) for name in kernels.include]
    include += [] if SETS / "include" in include else [SETS / "include"]
    headers = _headers({path: data[path] for path in sources if path in needed}, include)
    places = _places([*(path.parent for path in (*needed, *headers)), *include])
    named = {path: f"{places[path.parent]}/{path.name}" for path in (*needed, *headers)}
    files = {named[path]: content for path, content in ({p: data[p] for p in needed} | headers).items()}
    return KernelSources(
        dict(sorted(files.items())),
        tuple(named[path] for path in sources if path in needed and path not in copies),
        tuple(named[path] for path in copies),
        tuple(dict.fromkeys(places[path] for path in include if any(h.parent == path for h in headers))),
        code,
    )


def _read(path: Path) -> bytes:
    return read_guarded(path, LARGEST, InputError, too_large=", the most a source may have")


def _needed(image: Image, symbols: Collection[str], sources: list[Path]) -> set[Path]:
    """Files with the functions, and with all that any function of these files calls: so that no name is undefined."""
    from mcusim.kernels.link.relocations import tables
    from mcusim.kernels.link.trim import trim

    homes = {s.name: _home(image, s.address, sources) for s in image.symbols if s.kind == "function"}
    if not tables(image) or any(homes.get(name) is None for name in symbols):
        return set(sources)
    wanted, files = set(symbols), set[Path]()
    shared = {s.name for s in image.symbols if s.kind == "function" and s.binding}
    while wanted:
        kept = trim(image, 0, wanted)
        paths = {homes.get(s.name) for s in kept.symbols if s.kind == "function" and s.binding} - {None}
        new = {path for path in paths if path is not None} - files
        files |= new
        wanted = {name for name in shared if homes[name] in new}
    return files


def _home(image: Image, address: int, sources: list[Path]) -> Path | None:
    """The source that a function is in: the one whose path ends as the line table says."""
    line = image.line_at(address)
    if line is None:
        return None
    tail = re.sub(r"^(\.\./)+", "", line[0])
    named = [path for path in sources if str(path).endswith(f"/{tail}")]
    return named[0] if len(named) == 1 or (named and "/" not in tail) else None


def _headers(sources: dict[Path, bytes], include: list[Path]) -> dict[Path, bytes]:
    """The headers that are included, those of the compiler left out."""
    entries: dict[Path, bytes] = {}
    left = list(sources.items())
    while left:
        path, content = left.pop()
        for name in _INCLUDE.findall(content):
            places = [path.parent, *include]
            there = next((p for path in places if (p := path / os.fsdecode(name)).is_file()), None)
            if there is not None and (there := Path(os.path.normpath(there))) not in entries:
                entries[there] = _read(there)
                left.append((there, entries[there]))
    return dict(sorted(entries.items()))


def _places(folders: list[Path]) -> dict[Path, str]:
    """A folder of the generated project for each: by its own name, numbered where two have the same."""
    places: dict[Path, str] = {}
    for folder in sorted(set(folders)):
        name = re.sub(r"[^A-Za-z0-9_.-]", "_", folder.name).lstrip(".") or "sources"
        number = sum(1 for other in places.values() if re.fullmatch(rf"kernels/{re.escape(name)}(-\d+)?", other))
        places[folder] = f"kernels/{name}" + (f"-{number + 1}" if number else "")
    return places
