"""Compile a kernel set: a folder of C files and a manifest, to one ELF for each core.

Only the standard library, and nothing of mcusim: ``scripts/profiles/build_kernels`` runs this file before anything is
installed. Not modelled: other compilers' flags; a compiler must understand GCC's.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

# built-ins stay on (a 4-byte memcpy is one load), but no loop becomes a call of memset or memcpy, which sets may define
FLAGS = "-g -gno-record-gcc-switches -std=gnu11 -Wall -Wextra -nostdlib -fno-common -fwrapv -fno-math-errno"
FLAGS += " -ffp-contract=off -fno-tree-loop-distribute-patterns -fno-unwind-tables -fno-asynchronous-unwind-tables"
# a section for each function and constant, and relocations, stay in the file: what a model needs can be put anywhere
FLAGS += " -ffunction-sections -fdata-sections -Wl,--unique=.text.* -Wl,--unique=.rodata.*"
FLAGS += " -Wl,--emit-relocs -Wl,--build-id=none -Wl,-z,max-page-size=32 -Wl,--compress-debug-sections=none"
SETS = Path(__file__).resolve().parent / "sets"
SCRIPT = SETS / "common" / "set.ld"


def first_line(*command: str) -> str:
    """The first line that ``command`` prints. Raises OSError, subprocess.CalledProcessError."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def compile_set(
    manifest: Path,
    folder: Path,
    cores: Mapping[str, Sequence[str]],
    compiler: str = "arm-none-eabi-gcc",
    extra: str = "",
    step: Callable[[str], object] = lambda core: None,
    messages: IO[str] | None = None,
) -> str:
    """Build ``<name>-<core>.elf`` for each of ``cores`` into ``folder``; returns the text of its BUILD.toml.

    ``cores`` has the compiler flags of each; ``extra`` are further ones, after the manifest's. ``step`` is called after
    each core; ``messages`` gets what the compiler says, instead of standard error. Raises OSError, KeyError,
    IndexError, ValueError, subprocess.CalledProcessError.
    """
    raw: dict[str, Any] = tomllib.loads(manifest.read_text(encoding="utf-8"))
    flags = shlex.split(f"{FLAGS} {raw.get('flags', '')} {extra}")
    objcopy = first_line(compiler, "-print-prog-name=objcopy")
    targets = {core: (folder / f"{raw['name']}-{core}.elf").resolve() for core in cores}
    for core, target in targets.items():
        # relative names and mapped folders: the same bytes wherever the sources are
        command = [compiler, *cores[core], *flags, *_maps(manifest.parent, compiler)]
        command += [f"-I{place}" for place in (*raw.get("include", []), SETS / "include")]
        with tempfile.TemporaryDirectory() as objects:
            sources = _with_objects(raw, command, manifest.parent, Path(objects), messages)
            command += ["-T", str(SCRIPT), *sources, "-o", str(target)]
            subprocess.run(command, cwd=manifest.parent, check=True, stdin=subprocess.DEVNULL, stderr=messages)
        # those of debug sections would be a fifth of the file; nothing reads them
        subprocess.run([objcopy, "--remove-relocations=.debug_*", str(target)], check=True, stderr=messages)
        step(core)
    lines = ["# written by the build: what it built with, and what came out"]
    lines += [f"compiler = {quoted(first_line(compiler, '--version'))}", f"flags = {quoted(shlex.join(flags))}"]
    lines += ["[cores]", *(f"{core} = {quoted(' '.join(options))}" for core, options in cores.items())]
    lines += ["[sha256]", *(f"{quoted(path.name)} = {quoted(digest(path))}" for path in targets.values())]
    return "\n".join(lines) + "\n"


def _with_objects(
    raw: Mapping[str, Any], command: Sequence[str], folder: Path, objects: Path, messages: IO[str] | None
) -> list[str]:
    """The sources, those with flags of their own as object files, compiled into ``objects``."""
    sources = []
    for number, source in enumerate(raw["sources"]):
        own = raw.get("source_flags", {}).get(source)
        sources.append(source if own is None else str(objects / f"{number}.o"))
        if own is not None:
            alone = [flag for flag in command if not flag.startswith("-Wl,")]
            alone += [*shlex.split(own), "-c", source, "-o", sources[-1]]
            subprocess.run(alone, cwd=folder, check=True, stdin=subprocess.DEVNULL, stderr=messages)
    return sources


def quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are a part of TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _maps(source: Path, compiler: str) -> list[str]:
    headers = first_line(compiler, "-print-file-name=include")
    places = {str(source.resolve()): f"sets/{source.resolve().name}", str(SETS.resolve()): "sets", headers: "include"}
    return [f"-ffile-prefix-map={location}={name}" for location, name in places.items()]


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
