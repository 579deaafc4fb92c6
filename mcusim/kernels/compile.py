"""Compile a kernel set: a folder of C files and a manifest, to one ELF for each core.

Only the standard library, and nothing of mcusim: ``scripts/build_kernels`` runs this file before anything is installed.
Left out: other compilers' flags; a compiler must understand GCC's.
"""

from __future__ import annotations

import hashlib
import subprocess
import tomllib
from pathlib import Path
from typing import Any

CORES = {
    "cortex-m4": ["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-mthumb"],
    "cortex-m7": ["-mcpu=cortex-m7", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", "-mthumb"],
}
# built-ins stay on (a 4-byte memcpy is one load), but no loop becomes a call of memset or memcpy, which sets may define
FLAGS = "-g -gno-record-gcc-switches -std=gnu11 -Wall -Wextra -nostdlib -fno-common -fwrapv -fno-math-errno"
FLAGS += " -ffp-contract=off -fno-tree-loop-distribute-patterns -fno-unwind-tables -fno-asynchronous-unwind-tables"
# relocations stay in the file: the set can be put at another address
FLAGS += " -Wl,--emit-relocs -Wl,--build-id=none -Wl,-z,max-page-size=32 -Wl,--compress-debug-sections=none"
SETS = Path(__file__).resolve().parent / "sets"
SCRIPT = SETS / "common" / "set.ld"


def first_line(*command: str) -> str:
    """The first line that ``command`` prints. Raises OSError, subprocess.CalledProcessError."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def compile_set(manifest: Path, folder: Path, compiler: str = "arm-none-eabi-gcc", extra: str = "") -> str:
    """Build ``<name>-<core>.elf`` for each core into ``folder``; returns the text of its BUILD.toml.

    ``extra`` are further compiler flags, after the manifest's. Raises OSError, KeyError, subprocess.CalledProcessError.
    """
    raw: dict[str, Any] = tomllib.loads(manifest.read_text(encoding="utf-8"))
    flags = f"{FLAGS} {raw.get('flags', '')} {extra}".split()
    objcopy = first_line(compiler, "-print-prog-name=objcopy")
    for core, options in CORES.items():
        target = (folder / f"{raw['name']}-{core}.elf").resolve()
        command = [compiler, *options, *flags, *_maps(manifest.parent, compiler), "-T", str(SCRIPT)]
        command += [f"-I{place}" for place in raw.get("include", [])]
        # relative names and mapped folders: the same bytes wherever the sources are
        subprocess.run([*command, *raw["sources"], "-o", str(target)], cwd=manifest.parent, check=True)
        # those of debug sections would be a fifth of the file; nothing reads them
        subprocess.run([objcopy, "--remove-relocations=.debug_*", str(target)], check=True)
    lines = ["# written by scripts/build_kernels", f'compiler = "{first_line(compiler, "--version")}"']
    lines += [f'flags = "{" ".join(flags)}"', "[cores]"]
    lines += [f'{core} = "{" ".join(options)}"' for core, options in CORES.items()]
    lines += [
        "[sha256]",
        *(f'"{path.name}" = "{digest(path)}"' for path in sorted(folder.glob(f"{raw['name']}-*.elf"))),
    ]
    return "\n".join(lines) + "\n"


def _maps(source: Path, compiler: str) -> list[str]:
    headers = first_line(compiler, "-print-file-name=include")
    places = {str(source.resolve()): f"sets/{source.resolve().name}", str(SETS.resolve()): "sets", headers: "include"}
    return [f"-ffile-prefix-map={place}={name}" for place, name in places.items()]


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
