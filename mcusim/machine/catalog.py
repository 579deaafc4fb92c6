"""Where the shipped machine files are, and which file a name or path given by a user means."""

from __future__ import annotations

import difflib
from importlib import resources
from pathlib import Path

from mcusim.errors import MachineError
from mcusim.units import quoted

__all__ = ["config_directory", "locate", "machine_names"]


def config_directory() -> Path:
    """The folder of the shipped machine files: inside the installed package, else in the checkout."""
    package = Path(str(resources.files("mcusim")))
    installed = package / "_data" / "machine_configs"
    return installed if installed.is_dir() else package.parent / "machine_configs"


def machine_names() -> tuple[str, ...]:
    """The names of the shipped machines, sorted."""
    return tuple(sorted(path.stem for path in config_directory().glob("*.toml")))


def locate(name_or_path: str | Path, relative_to: Path | None = None) -> tuple[Path, str]:
    """The file a shipped name or a path means, and the short form error messages use.

    A shipped name wins over a file of that name. Raises MachineError for a name that is neither.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, str) and text in machine_names():
        return config_directory() / f"{text}.toml", f"{text}.toml"
    if not text:
        raise MachineError(f"the machine has no name: {_choices()}")
    path = Path(text) if relative_to is None else relative_to / text
    if text.endswith(".toml") or "/" in text or "\\" in text or _exists(path):
        return path, _printable(path)
    raise MachineError(f"unknown machine {quoted(text)}{_nearest(text)}: {_choices()}")


def _printable(path: Path) -> str:
    text = str(path)
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name the system cannot hold
        return False


def _nearest(text: str) -> str:
    close = difflib.get_close_matches(text[:80], machine_names(), n=1)
    return f', did you mean "{close[0]}"' if close else ""


def _choices() -> str:
    return f"known are {', '.join(machine_names())}, and the path of a TOML file works too"
