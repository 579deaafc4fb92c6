"""Defaults of options from ``mcusim.toml``: that of the current folder, and below it that of the user.

::

    machine = "f469"            # of all commands that plan a model or run a program
    [run]
    policy = "tinyops"
    sram-budget = "128 KiB"

``--no-config`` or the environment variable ``MCUSIM_NO_CONFIG`` leave them out. Options that name files to write cannot
be set, so that a folder of another's cannot make a command overwrite anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcusim.errors import UsageError

__all__ = ["COMMANDS", "SWITCH", "defaults", "places", "taken"]

NAME, SWITCH = "mcusim.toml", "MCUSIM_NO_CONFIG"
_PLAN = ("machine", "policy", "kernels")  # and the options of a plan
_PLANNING = ("run", "plan", "compare")
_RUN = (*_PLAN, "fidelity", "code", "operator-overhead", "operators", "assumptions")
COMMANDS: Mapping[str, tuple[str, ...]] = {  # of each command the options that may have a default
    "run": _RUN,
    "plan": _PLAN,
    "compare": (*_PLAN, "fidelity"),
    "verify": ("sanitize", "fuzz"),
    "emulate": ("machine", "top"),
    "sweep": ("jobs", "dask"),
}
_COMMON: Mapping[str, tuple[str, ...]] = {  # options that stand in no table, and the commands that have them from there
    "machine": ("run", "plan", "emulate"),
    "policy": ("run", "plan"),
    "kernels": ("run", "plan", "compare"),
    "fidelity": ("run", "compare"),
}
_NUMBERS, _FLAGS = ("operators", "operator-overhead", "fuzz", "top", "jobs"), ("assumptions", "in-place")
_Wrong = Callable[[str, object, str], UsageError]


def places() -> tuple[Path, ...]:
    """Where the file may be, the one that wins first."""
    home = Path("~").expanduser()
    if sys.platform == "win32":
        user = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        user = home / "Library" / "Application Support"
    else:
        user = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return Path(NAME), user / "mcusim" / NAME


def defaults(command: str) -> dict[str, tuple[Any, str]]:
    """The defaults of ``command``: each option's value and the file that it is from. Raises UsageError for a file that
    cannot be read, and for keys and values that it cannot have."""
    found: dict[str, tuple[Any, str]] = {}
    if os.environ.get(SWITCH) or command not in COMMANDS:
        return found
    for path in reversed(places()):
        if os.path.lexists(path):
            found |= {option: (value, str(path)) for option, value in _read(path, command).items()}
    return found


def _read(path: Path, command: str) -> dict[str, Any]:
    from mcusim.machine.toml_file import read_toml

    raw, lines = read_toml(path, str(path), "configuration", UsageError)

    def wrong(key: str, value: object, rule: str) -> UsageError:
        from mcusim.machine.document import show

        line = lines.get(key)
        return UsageError(f"{path}{f':{line}' if line else ''}: {key[:80]} = {show(value)}: {rule}")

    common: dict[str, Any] = {}
    for key, value in raw.items():
        if isinstance(value, dict) and key in COMMANDS:
            for option, own in value.items():
                _check(f"{key}.{option}", own, _known(key, option), wrong)
        else:
            _check(key, value, _COMMON, wrong)
            common |= {key: value} if command in _COMMON[key] else {}
    return common | dict(raw.get(command, {}))


def _known(command: str, option: str) -> Sequence[str]:
    """The options of ``command`` that may have a default; policies are asked for theirs where it is no other."""
    known = COMMANDS[command]
    if option in known or command not in _PLANNING:
        return known
    from mcusim.plan import declared_options

    return (*known, *(declared.flag for declared in declared_options().values()))


def _check(key: str, value: object, known: Sequence[str] | Mapping[str, object], wrong: _Wrong) -> None:
    """Raise what ``wrong`` makes of a key that is none of ``known``, or a value that is of another type."""
    option = key.rpartition(".")[2]
    if option not in known or key in COMMANDS:
        tables = "" if "." in key else f", and tables {', '.join(COMMANDS)}"
        raise wrong(key, value, f"unknown key; there are {', '.join(known)}{tables}")
    kinds = {**dict.fromkeys(_NUMBERS, (int, "a whole number")), **dict.fromkeys(_FLAGS, (bool, "true or false"))}
    kind, word = kinds.get(option, (str, "a text in quotes"))
    if type(value) is not kind or (isinstance(value, str) and not value.strip()):
        raise wrong(key, value, f"must be {word}")


def taken(found: Mapping[str, tuple[Any, str]], options: Sequence[str]) -> list[str]:
    """What to say of the ``options`` that were taken from files, a line a file."""
    files = dict.fromkeys(found[option][1] for option in options)
    texts = {file: [f"{o} = {found[o][0]}" for o in options if found[o][1] == file] for file in files}
    return [f"defaults from {file}: {', '.join(each)}" for file, each in texts.items()]
