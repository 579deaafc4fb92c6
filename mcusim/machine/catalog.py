"""Where the shipped machine files are, and which file a name or path given by a user means."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from mcusim.errors import MachineError
from mcusim.machine.other_parts import McuPart, board_part, differences, find_part, near_options, nearest_board
from mcusim.machine.stand_ins import core_of_part, stand_in
from mcusim.units import quoted

_SHORTEST = 3  # letters of a part of a name
_MAKER = "stm32"


def config_directory() -> Path:
    """The folder of the shipped machine files: inside the installed package, else in the checkout."""
    package = Path(str(resources.files("mcusim")))
    installed = package / "_data" / "machine_configs"
    return installed if installed.is_dir() else package.parent / "machine_configs"


def machine_names() -> tuple[str, ...]:
    """The names of the shipped machines, sorted."""
    return tuple(sorted(path.stem for path in config_directory().glob("*.toml")))


def find_name(text: str) -> str | None:
    """The shipped machine that a name means, however it is written: ``STM32F746G-DISCO``, the first letters with the
    maker's or without, ``f746``, or a part that no other has, ``f767``, ``STM32H743ZI``; None for none.

    Raises MachineError for what means several."""
    names, wanted = machine_names(), _letters(text)
    if text in names:
        return text
    long = len(wanted) >= _SHORTEST
    matches = (
        [name for name in names if _letters(name) == wanted]
        or [
            name
            for name in names
            if long and _letters(name).removeprefix(_MAKER).startswith(wanted.removeprefix(_MAKER))
        ]
        or [name for name in names if long and wanted.removeprefix(_MAKER) in _letters(name)]
    )
    if len(matches) > 1:
        raise MachineError.of_lines(f"machine {quoted(text)} may be one of {len(matches)}", _described(matches))
    return matches[0] if matches else None


def _letters(name: str) -> str:
    return "".join(c for c in name[:80].lower() if c.isalnum())


def _described(names: Iterable[str]) -> list[str]:
    """A line for each machine."""
    width = max(map(len, machine_names()))
    folder = config_directory()
    titles = {name: tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")).get("title") for name in names}
    return [f"{name:<{width}}  {title or name}" for name, title in titles.items()]


def locate(name_or_path: str | Path, relative_to: Path | None = None) -> tuple[Path, str]:
    """The file a shipped name or a path means, and the short form error messages use.

    A shipped name, however it is written, wins over a file of that name; one that is none may be a file without its
    ``.toml``. Raises MachineError for a name that is neither.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, str) and text in machine_names():
        return config_directory() / f"{text}.toml", f"{text}.toml"
    if not text:
        raise MachineError(f"the machine has no name: {_choices()}")
    path = Path(text) if relative_to is None else relative_to / text
    if text.endswith(".toml") or "/" in text or "\\" in text or _exists(path):
        return path, _printable(path)
    name = find_name(text) if isinstance(name_or_path, str) else None
    if name is not None:
        return config_directory() / f"{name}.toml", f"{name}.toml"
    beside = path.with_name(f"{path.name}.toml")
    if isinstance(name_or_path, str) and _exists(beside):
        return beside, _printable(beside)
    part, close = find_part(text) if isinstance(name_or_path, str) else None, _nearest(text)
    if part is not None and (close is None or board_part(close).line != part.line):  # else a board's name, misspelt
        raise _not_shipped(text, part)
    meant = f', did you mean "{close}"' if close else ""
    headline = f"unknown machine {quoted(text)}{meant}: the path of a TOML file works, and these names"
    own = "a board of your own: mcusim machines --new FILE.toml --from NAME (how-to: add a board)"
    core = core_of_part(text)
    other = [f"its core is {core}; {stand_in(core) or 'of which there is a model'}"] if core else []
    raise MachineError.of_lines(headline, [*_described(machine_names()), *other, own])


def _not_shipped(text: str, part: McuPart) -> MachineError:
    """The error for a part, or a board of it, that no shipped machine has."""
    board = nearest_board(part)
    return MachineError.of_lines(
        f"no machine {quoted(text)} ships; the nearest is {board}",
        [
            f"{part.name}: {part}",
            f"{board} has {differences(part, board)}",
            f"as near as options come: {near_options(part, board)}",
            f"a board of your own: mcusim machines --new FILE.toml --from {board} (how-to: add a board)",
        ],
    )


def _printable(path: Path) -> str:
    text = str(path)
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name the system cannot hold
        return False


def _nearest(text: str) -> str | None:
    return next(iter(difflib.get_close_matches(text[:80], machine_names(), n=1)), None)


def _choices() -> str:
    return f"known are {', '.join(machine_names())}, and the path of a TOML file works too"
