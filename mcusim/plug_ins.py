"""Python from outside the package: a file that is named by its path (``--policy ./pinned.py``), or an installed package
that declares an entry point of a group of :data:`GROUPS`.

Nothing is loaded before it is asked for, by name; what a process has loaded, the processes that it starts know by name
too. Not modelled: what such code does besides, which may be anything.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mcusim.errors import McusimError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS: Mapping[str, str] = {  # of entry points, behind ``mcusim.``
    "policy": "policies",
    "runtime": "runtimes",
    "replacement": "replacements",
    "peripheral": "peripherals",
    "page": "pages",
    "lab": "labs",
}
_LARGEST = 1 << 20  # bytes of a file


@dataclass(frozen=True, slots=True)
class PlugIn:
    """What was loaded: its ``kind`` (a key of :data:`GROUPS`), the ``name`` that it goes by, the ``file``, and its hash
    then; the ``package`` that it was installed with, '' for a file that was named by its path."""

    kind: str
    name: str
    file: str
    sha256: str
    package: str = ""

    @property
    def short_name(self) -> str:
        """Its name without the folder and the ending of a file."""
        return Path(self.name).stem if is_path(self.name) else self.name

    def to_json(self) -> dict[str, str]:
        """As results name it: without the folder."""
        source = self.package or Path(self.file).name
        return {"kind": self.kind, "name": f"{self.short_name} ({source})", "sha256": self.sha256}


_known: dict[tuple[str, str], PlugIn] = {}


def is_path(name: str) -> bool:
    """Whether a name is that of a file: no shipped one ends so, or has a slash."""
    return name.endswith(".py") or "/" in name or "\\" in name


def find_known(kind: str, name: str) -> PlugIn | None:
    """What this process, or the one that started it, has loaded under that name."""
    return _known.get((kind, name))


def source(kind: str, name: str) -> str:
    """What a user calls it: the path of its file, where it was named by that; else its name."""
    plug_in = find_known(kind, name)
    return name if plug_in is None or plug_in.package else plug_in.file


def all_known() -> tuple[PlugIn, ...]:
    """All of them, for :func:`remember` in another process."""
    return tuple(_known.values())


def remember(plug_ins: Sequence[PlugIn]) -> None:
    """Know what another process has loaded; it is loaded here when it is asked for."""
    _known.update({(plug_in.kind, plug_in.name): plug_in for plug_in in plug_ins})


def load(kind: str, path: str | Path, wanted: str | None = None) -> tuple[ModuleType, str, str]:
    """The module in a file, the file's full path and its hash, which is ``wanted`` unless that is None.

    Raises UsageError with file and line for one that cannot be read, or that raises anything; for another file than was
    wanted.
    """
    full = Path(path).absolute()
    try:
        data = full.read_bytes() if full.stat().st_size <= _LARGEST else b""
    except OSError as error:
        raise UsageError(f"{kind} {str(path)[:200]}: {error.strerror or error}") from None
    digest = sha256(data).hexdigest()
    if wanted is not None and digest != wanted:
        raise UsageError(f"{kind} {str(path)[:200]}: the file has changed since it was loaded, or is another one here")
    module = ModuleType(f"mcusim_plug_in_{full.stem}_{digest[:12]}")
    module.__file__ = str(full)
    sys.modules[module.__name__] = module  # dataclasses of it look themselves up
    try:
        with redirect_stdout(sys.stderr):  # standard output is the command's
            exec(compile(data, str(full), "exec"), module.__dict__)
    except BaseException as error:  # whatever a user's code does
        sys.modules.pop(module.__name__, None)
        raise problem(error, str(path), str(full)) from None
    return module, str(full), digest


def problem(error: BaseException, shown: str, full: str) -> BaseException:
    """What a file raised as one line, with the line of the file; Ctrl-C as it is."""
    if isinstance(error, KeyboardInterrupt):
        return error
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == full]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())[:200]
    location = f"{shown[:200]}:{line}" if line else shown[:200]
    if isinstance(error, UsageError):
        return UsageError(f"{location}: {text}")
    return UsageError(f"{location}: {type(error).__name__}{': ' if text else ''}{text}")


def raised_by(error: BaseException) -> str | None:
    """One line of what the code of a plug-in has raised, with its line; None where none of them was at work."""
    files = {frame.filename for frame in extract_tb(error.__traceback__)}
    plug_in = next((plug_in for plug_in in all_known() if plug_in.file in files), None)
    if plug_in is None:
        return None
    return str(problem(error, f"{plug_in.kind} {plug_in.short_name}: {Path(plug_in.file).name}", plug_in.file))


@contextmanager
def guarded(kind: str, shown: str, file: str) -> Iterator[None]:
    """What the code of a plug-in raises while it works becomes one line with that of its file; errors and verdicts of
    mcusim go on as they are."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except McusimError:
        raise
    except BaseException as error:  # whatever a user's code does
        raise problem(error, f"{kind} {shown}: {Path(file).name}", file) from None


def file_sha256(path: str) -> str:
    """Of what a file has now."""
    return sha256(Path(path).read_bytes()).hexdigest()


def identified(kind: str, name: str) -> PlugIn:
    """What a path or the name of an installed one stands for now; it is not loaded. Raises UsageError for none."""
    if is_path(name):
        full, package = str(Path(name).absolute()), ""
    else:
        point = installed(kind).get(name)
        module = None if point is None else find_spec(point.module)
        if point is None or module is None or not module.origin:
            raise UsageError(f"no {kind} {name[:80]!r} is installed")
        full, package = module.origin, package_of(point)
    try:
        return PlugIn(kind, name, full, file_sha256(full), package)
    except OSError as error:
        raise UsageError(f"{kind} {name[:200]}: {error.strerror or error}") from None


def installed(kind: str) -> dict[str, EntryPoint]:
    """Entry points of installed packages by their names. Raises UsageError where two have one name."""
    return dict(_entry_points(f"mcusim.{GROUPS[kind]}"))


@cache
def _entry_points(group: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import

    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        other = points.get(point.name)
        if other is not None and other.value != point.value:
            raise UsageError(
                f"two installed packages have a {group} {point.name!r}: {package_of(other)} and {package_of(point)};"
                " uninstall one"
            )
        points[point.name] = point
    return points


def load_installed(kind: str, point: EntryPoint) -> tuple[Any, str, str]:
    """What an entry point names, the file that it is in, and its hash. Raises UsageError for one that raises."""
    module: Any = None
    try:
        loaded = point.load()
        module = sys.modules.get(point.module)
    except BaseException as error:  # whatever an installed package does
        frames = extract_tb(error.__traceback__)
        file = error.filename if isinstance(error, SyntaxError) else frames[-1].filename if frames else None
        raise problem(error, f"{kind} {point.name} of {package_of(point)}: {file}", str(file)) from None
    file = str(getattr(module, "__file__", None) or "")
    return loaded, file, sha256(Path(file).read_bytes()).hexdigest() if file else ""


def load_named(kind: str, name: str, wanted: str | None = None) -> tuple[Any, PlugIn]:
    """The module in a file, by its path, or what the entry point of that name names; and what it was loaded from.

    Raises UsageError as :func:`load`; KeyError for a name that nothing is installed under."""
    if is_path(name):
        module, file, digest = load(kind, name, wanted)
        return module, PlugIn(kind, name, file, digest)
    point = installed(kind)[name]
    value, file, digest = load_installed(kind, point)
    return value, PlugIn(kind, name, file, digest, package_of(point))


def package_of(point: EntryPoint) -> str:
    """Its name."""
    return "a package" if point.dist is None else point.dist.name
