"""Object files of what a session is asked to load: as they are, or compiled on the spot.

Not modelled: other compilers than GCC for ``arm-none-eabi``.
"""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mcusim.errors import UsageError
from mcusim.machine.cores import compiler_flags
from mcusim.sessions.object_file import ObjectFile, read_object


class CompileError(UsageError):
    """Source that the compiler refuses; ``timed_out``: that it does not come to an end with."""

    def __init__(self, text: str, timed_out: bool = False) -> None:
        super().__init__(text)
        self.timed_out = timed_out


COMPILER = "arm-none-eabi-gcc"
FLAGS = (
    "-O2",
    "-g",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
    "-fno-exceptions",
    "-fno-tree-loop-distribute-patterns",
)
CXX_FLAGS = ("-fno-rtti", "-fno-threadsafe-statics", "-fno-use-cxa-atexit")
SOURCES, CXX = (".c", ".cc", ".cpp", ".cxx", ".s", ".S"), (".cc", ".cpp", ".cxx")
RUNTIME = "the runtime"
LONGEST = 60  # CPU-seconds of the compiler, far above any honest need
LARGEST_MEMORY, LARGEST_OUTPUT = 4 << 30, 64 << 20  # bytes, likewise
FOLDER = Path(__file__).parent / "runtime"


def runtime_object(isa: str) -> ObjectFile:
    """What every session has: functions of the C library and of the compiler's, built with the package."""
    return read_object(FOLDER / f"runtime-{isa}.o")


def object_of(
    what: str | Path | Sequence[str | Path], isa: str, include: Sequence[str | Path] = (), flags: str = ""
) -> tuple[ObjectFile, str]:
    """The object file of paths (``.o``, C, C++, assembly) or of C source, a text with a brace or of several lines; and
    what it is called.

    Several become one. Raises UsageError where the compiler is missing, names the package; for a file that is missing;
    and for source that it refuses, with its words. ImageError for a damaged object file.
    """
    several = [what] if isinstance(what, str | Path) else [*what]
    if len(several) == 1 and isinstance(several[0], str) and {*"{\n"} & {*several[0]}:
        with tempfile.TemporaryDirectory(prefix="mcusim-") as folder:
            source = Path(folder) / "source.c"
            source.write_text(several[0], encoding="utf-8")
            return _compiled([source], isa, "the source", include, flags), "the source"
    paths = [Path(item) for item in several]
    for path in paths:
        if not os.path.isfile(path):  # noqa: PTH113  # which raises for no name
            raise UsageError(
                f"{str(path)[:200]!r}: no such file; load takes object files, C, C++ and assembly files, and C source"
            )
    if not paths:
        raise UsageError("nothing to load: give an object file, a C file, or C source")
    name = ", ".join(path.name for path in paths)
    if len(paths) == 1 and paths[0].suffix not in SOURCES:
        return read_object(paths[0]), name
    return _compiled(paths, isa, name, include, flags), name


def _compiled(sources: Sequence[Path], isa: str, name: str, include: Sequence[str | Path], flags: str) -> ObjectFile:
    try:
        more = shlex.split(flags)
    except ValueError as error:
        raise UsageError(f"flags {flags!r}: {error}") from None
    cxx = CXX_FLAGS if any(source.suffix in CXX for source in sources) else ()
    with tempfile.TemporaryDirectory(prefix="mcusim-") as folder:
        target = Path(folder) / "module.o"
        headers = (*(f"-I{location}" for location in include), "-idirafter", str(FOLDER / "include"))
        command = [COMPILER, *compiler_flags()[isa], *FLAGS, *cxx, *headers, *more]
        _run([*command, "-r", "-nostdlib", *map(str, sources), "-o", str(target)], name)
        return read_object(target, name)


def _run(command: Sequence[str], name: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=20 * LONGEST, check=False, preexec_fn=_limit
        )
    except FileNotFoundError:
        raise UsageError(
            f"{name} needs {COMPILER} (Debian: apt-get install gcc-arm-none-eabi); object files do not"
        ) from None
    except subprocess.TimeoutExpired:
        raise CompileError(f"{name}: the compiler did not end", timed_out=True) from None
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").splitlines()
        if any("CPU time limit" in line for line in words):
            raise CompileError(f"{name}: the compiler did not end within {LONGEST} CPU-seconds", timed_out=True)
        lines = [line for line in words if "error" in line] or words[:1]
        raise CompileError.of_lines(f"{name} does not compile", lines[:20])


def _limit() -> None:
    """Of the compiler's processes, each: time, memory, and what it writes."""
    for limit, most, last in (
        (resource.RLIMIT_CPU, LONGEST, LONGEST + 5),  # at the first it can say why it ends
        (resource.RLIMIT_AS, LARGEST_MEMORY, LARGEST_MEMORY),
        (resource.RLIMIT_FSIZE, LARGEST_OUTPUT, LARGEST_OUTPUT),
    ):
        with suppress(ValueError, OSError):  # it is lower already
            resource.setrlimit(limit, (most, last))
