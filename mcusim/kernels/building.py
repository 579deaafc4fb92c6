"""Build kernel sets into a folder that can be named as a set, and read what a set was built with.

Not modelled: which headers a source includes; what is missing there the compiler says.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from mcusim.errors import InputError, UsageError
from mcusim.files import read_guarded, without_mark
from mcusim.kernels.compiler import compile_set, digest, quoted
from mcusim.kernels.kernel_set import KernelSet, load_set
from mcusim.machine.cores import CORES, compiler_flags

RECORD, MANIFEST = "BUILD.toml", "manifest.toml"
LARGEST_RECORD = 1 << 20
PACKAGE = "gcc-arm-none-eabi"
SECONDS = 20  # a compiler that is asked for its target has answered by then


@dataclass(frozen=True)
class BuildRecord:
    """A set's BUILD.toml; ``changed`` names the ELF files in its folder that are not those it was written for."""

    compiler: str
    flags: str
    changed: tuple[str, ...]


def read_record(kernels: KernelSet) -> BuildRecord | None:
    """What a set was built with, None when it has no BUILD.toml. Raises InputError for one that cannot be read."""
    path = kernels.manifest.parent / RECORD
    if not path.exists():
        return None
    data = read_guarded(path, LARGEST_RECORD, InputError, too_large=", the most a build record may have")
    try:
        raw = tomllib.loads(without_mark(data).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    compiler, flags, sums = raw.get("compiler"), raw.get("flags"), raw.get("sha256")
    if not isinstance(compiler, str) or not isinstance(flags, str) or not isinstance(sums, dict):
        raise InputError(f"{path}: needs the texts compiler and flags and the table sha256; build the set again")
    files = [path.parent / f"{kernels.name}-{isa}.elf" for isa in CORES]
    return BuildRecord(compiler, flags, tuple(f.name for f in files if f.is_file() and sums.get(f.name) != digest(f)))


@dataclass(frozen=True)
class Compiler:
    """What builds: a GCC for Arm, ``flags`` after the manifest's own. ``step`` is called after each ELF file, ``say``
    with what the compiler says."""

    name: str = "arm-none-eabi-gcc"
    flags: str = ""
    step: Callable[[object], object] = lambda core: None
    say: Callable[[str], object] = print

    def checked(self) -> Compiler:
        """Itself, as it is to be called. Raises UsageError when it is not there, is no GCC for Arm, or for flags with
        an open quotation mark."""
        try:
            shlex.split(self.flags)
        except ValueError as error:
            raise UsageError(f"--cflags {self.flags!r}: {error}") from None
        return replace(self, name=_arm_compiler(self.name))


def _arm_compiler(compiler: str) -> str:
    if "\0" in compiler or shutil.which(compiler) is None:
        raise UsageError(
            f"no compiler {compiler!r}: Debian and Ubuntu have one in the package {PACKAGE}; --cc names it"
        )
    if os.sep in compiler:
        compiler = str(Path(compiler).absolute())  # it is called in the folder of the sources
    try:
        done = subprocess.run(
            [compiler, "-dumpmachine"], capture_output=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(
            f"--cc {compiler}: is not GCC: asked for its target (-dumpmachine), {_reason(error)}"
        ) from None
    target = done.stdout[:80].decode("utf-8", "replace").strip()
    if not target.startswith("arm"):
        shown = f"compiles for {target!r}" if target else "does not say what it compiles for"
        raise UsageError(f"--cc {compiler}: {shown}, not for arm-none-eabi (Debian package {PACKAGE})")
    return compiler


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return f"it exits with status {error.returncode}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it does not answer in {SECONDS} s"
    return getattr(error, "strerror", None) or str(error)


def build_sets(sets: Sequence[KernelSet], out: Path, compiler: Compiler, force: bool = False) -> list[KernelSet]:
    """Build each set into ``out/<name>``: its ELF files, a manifest and BUILD.toml; returns the sets that are there.

    All of them or none: what fails leaves ``out`` as it was. The manifest is one that builds the same again from there:
    whole paths of the sources, the compiler's flags after its own. In the set's own folder it stays as it is. Raises
    UsageError for an unusable compiler, and for a folder that contains files without ``force``; InputError for sources
    that are missing or do not compile, and for a result that is no kernel set.
    """
    compiler = compiler.checked()
    for kernels in sets:
        _check_sources(kernels)
        _check_target(out, out / kernels.name, force)
    with _staging(out) as stage:
        for kernels in sets:
            _build(kernels, stage / kernels.name, out / kernels.name, compiler)
        for kernels in sets:
            _install(stage / kernels.name, out / kernels.name)
    return [load_set(kernels.manifest if _is_own(kernels, out) else out / kernels.name) for kernels in sets]


def _check_sources(kernels: KernelSet) -> None:
    """Every source is a file that can be read, every folder for headers is there."""
    manifest = kernels.manifest
    if not kernels.sources:
        raise InputError(f"{manifest}: sources: names no file")
    for source in kernels.sources:
        path = manifest.parent / source
        if "\0" in source or not path.is_file():
            raise InputError(f"{manifest}: sources: {quoted(source)}: there is no such file")
        if not os.access(path, os.R_OK):
            raise InputError(f"{manifest}: sources: {quoted(source)}: cannot be read")
    for location in kernels.include:
        if "\0" in location or not (manifest.parent / location).is_dir():
            raise InputError(f"{manifest}: include: {quoted(location)}: there is no such folder")
    try:
        shlex.split(kernels.flags)
    except ValueError as error:
        raise InputError(f"{manifest}: flags = {quoted(kernels.flags)}: {error}") from None


def _is_own(kernels: KernelSet, out: Path) -> bool:
    target = out / kernels.name
    return target.is_dir() and target.samefile(kernels.manifest.parent)


def _check_target(out: Path, target: Path, force: bool) -> None:
    for path in (out, target):
        if path.exists() and not path.is_dir():
            raise UsageError(f"cannot build into {path}: it is not a directory")
    if target.is_dir() and any(target.iterdir()) and not force:
        raise UsageError(f"{target} holds files; --force writes over those that a kernel set has")


@contextmanager
def _staging(out: Path) -> Iterator[Path]:
    """A folder for the build inside ``out``, removed afterwards; of what it had to create only a whole build stays."""
    created = [path for path in (out, *out.parents) if not path.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".build-", dir=out) as name:
            yield Path(name)
    except BaseException as error:
        for path in created:
            with suppress(OSError):
                path.rmdir()
        if isinstance(error, OSError | UnicodeError):
            raise UsageError(f"cannot build into {out}: {getattr(error, 'strerror', None) or error}") from None
        raise


def _build(kernels: KernelSet, stage: Path, target: Path, compiler: Compiler) -> None:
    """One set into ``stage``, for ``target``."""
    stage.mkdir()
    name, text, failure = compiler.name, "", None
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as messages:
        try:
            text = compile_set(kernels.manifest, stage, compiler_flags(), name, compiler.flags, compiler.step, messages)
        except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
            failure = f"kernel set {kernels.name!r} is not built: {_failure(error, name)}"
        _pass_on(messages, compiler)
    if failure is not None:
        raise InputError(failure)
    (stage / RECORD).write_text(text, encoding="utf-8")
    if not _is_own(kernels, target.parent):
        (stage / MANIFEST).write_text(manifest_text(kernels, compiler.flags), encoding="utf-8")
    built = replace(kernels, manifest=stage / MANIFEST)
    for isa in CORES:
        try:
            built.image(isa)
        except InputError as error:
            raise InputError(str(error).replace(str(stage), str(target))) from None


def _pass_on(messages: IO[str], compiler: Compiler) -> None:
    messages.seek(0)
    warnings = messages.read().strip()
    if warnings:
        compiler.say(warnings)


def _failure(error: Exception, compiler: str) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return f"{Path(error.cmd[0]).name} exits with status {error.returncode}; its messages are above"
    return (
        f"{Path(compiler).name}: {getattr(error, 'filename', None) or ''} {getattr(error, 'strerror', None) or error}"
    )


def manifest_text(kernels: KernelSet, flags: str = "", head: str = "a copy for the ELF files in this folder") -> str:
    """A manifest that works from any folder."""

    def whole(name: str) -> str:
        return str((kernels.manifest.parent / name).resolve())

    def listed(names: Sequence[str]) -> str:
        return "[\n" + "".join(f"    {quoted(whole(name))},\n" for name in names) + "]"

    lines = [
        f"# {head}",
        f"name = {quoted(kernels.name)}",
        f"title = {quoted(kernels.title)}",
    ]
    lines += [f"sources = {listed(kernels.sources)}", f"include = {listed(kernels.include)}"]
    lines.append(f"flags = {quoted(f'{kernels.flags} {flags}'.strip())}")
    if kernels.source_flags:
        own = (f"{quoted(whole(name))} = {quoted(text)}" for name, text in kernels.source_flags.items())
        lines += ["", "[source_flags]", *own]
    operators: dict[str, list[str]] = {}
    for kernel in kernels.kernels.values():
        values = {"symbol": kernel.symbol, "layout": kernel.layout, "scratch": kernel.scratch}
        values |= {"in_place": kernel.in_place} if kernel.in_place != "0" else {}
        values |= {"filter_order": kernel.filter_order} if kernel.filter_order else {}
        row = ", ".join(f"{key} = {quoted(value)}" for key, value in values.items())
        if kernel.direct:
            row += f", direct = [{', '.join(listed(pair) for pair in kernel.direct)}]"
        operators.setdefault(kernel.operator, []).append(f"{kernel.types} = {{ {row} }}")
    for operator, rows in operators.items():
        lines += ["", f"[kernels.{operator}]", *rows]
    return "\n".join(lines) + "\n"


def _install(stage: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    for path in sorted(stage.iterdir()):
        path.replace(target / path.name)
