"""Object files of what a session is asked to load: as they are, or compiled on the spot."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from mcusim.cpu.cores import compiler_flags
from mcusim.errors import UsageError

__all__ = ["COMPILER", "RUNTIME", "RUNTIME_FUNCTIONS", "object_of"]

COMPILER = "arm-none-eabi-gcc"
FLAGS = (
    "-O2",
    "-g",
    "-ffreestanding",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-unwind-tables",
    "-fno-tree-loop-distribute-patterns",
)
RUNTIME = Path(__file__).parent / "runtime.c"
RUNTIME_FUNCTIONS = ("memcpy", "memmove", "memset", "memcmp", "strlen")
LONGEST = 60  # seconds of the compiler, far above any honest need


def object_of(what: str | Path, isa: str) -> tuple[Path, str]:
    """The object file of a path (``.o``, ``.c``) or of C source, a text with a brace; and what it is called.

    Raises UsageError where the compiler is missing, names the package; and for source that it refuses, with its words.
    """
    if isinstance(what, str) and "{" in what:
        folder = Path(tempfile.mkdtemp(prefix="mcusim-"))
        (folder / "source.c").write_text(what, encoding="utf-8")
        return _compiled(folder / "source.c", isa, "the source"), "the source"
    path = Path(what)
    if not path.is_file():
        raise UsageError(f"{str(path)[:200]}: no such file; load takes an object file, a C file, or C source")
    return (_compiled(path, isa, path.name) if path.suffix == ".c" else path), path.name


def _compiled(source: Path, isa: str, name: str) -> Path:
    target = Path(tempfile.mkdtemp(prefix="mcusim-")) / "module.o"
    command = [COMPILER, *compiler_flags()[isa], *FLAGS, "-r", "-nostdlib", str(source), "-lgcc", "-o", str(target)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LONGEST, check=False
        )
    except FileNotFoundError:
        raise UsageError(
            f"{name} needs {COMPILER} (Debian: apt-get install gcc-arm-none-eabi); object files do not"
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{name}: the compiler did not end within {LONGEST} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[:1]
        raise UsageError.of_lines(f"{name} does not compile", lines[:20])
    return target
