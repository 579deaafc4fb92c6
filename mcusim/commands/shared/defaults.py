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
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcusim.errors import InputError, UsageError
from mcusim.plug_ins import is_path

if TYPE_CHECKING:
    from mcusim.plan.options import Option

NAME, SWITCH = "mcusim.toml", "MCUSIM_NO_CONFIG"
_PLAN = ("machine", "policy", "kernels")
_PLANNING, _RUNNING = ("run", "plan", "compare", "verify"), ("run", "compare")  # have the options of plans, and of runs
COMMANDS: Mapping[str, tuple[str, ...]] = {  # of each command the other options that may have a default
    "run": (*_PLAN, "fidelity", "operators", "assumptions"),
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
_NUMBERS, _FLAGS = ("operators", "fuzz", "top", "jobs"), ("assumptions",)
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
    result: dict[str, tuple[Any, str]] = {}
    if os.environ.get(SWITCH) or command not in COMMANDS:
        return result
    for path in reversed(places()):
        if os.path.lexists(path):
            result |= {option: (value, str(path)) for option, value in _read(path, command).items()}
    return result


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
                declared = _declared(key, option)
                _check(f"{key}.{option}", own, (*COMMANDS[key], *declared), declared.get(option), wrong)
        else:
            _check(key, value, _COMMON, None, wrong)
            common |= {key: value} if command in _COMMON[key] else {}
    fields = common | dict(raw.get(command, {}))
    for option in ("policy", "runtime"):
        if is_path(str(fields.get(option, ""))):
            fields[option] = str(path.parent / fields[option])  # relative to the file that names it
    return {option: ",".join(value) if isinstance(value, list) else value for option, value in fields.items()}


def _declared(command: str, option: str) -> Mapping[str, Option[Any]]:
    """The declared options by their flags, where ``command`` takes them and ``option`` is none of its own."""
    if option in COMMANDS[command] or command not in _PLANNING:
        return {}
    from mcusim.plan import declared_options
    from mcusim.run_config.run_options import RUN

    options = [*declared_options().values(), *(RUN if command in _RUNNING else ())]
    return {declared.flag: declared for declared in options}


def _check(key: str, value: object, known: Collection[str], declared: Option[Any] | None, wrong: _Wrong) -> None:
    """Raise what ``wrong`` makes of a key that is none of ``known``, or a value that its option cannot have."""
    option = key.rpartition(".")[2]
    if option not in known or key in COMMANDS:
        tables = "" if "." in key else f", and tables {', '.join(COMMANDS)}"
        raise wrong(key, value, f"unknown key; there are {', '.join(known)}{tables}")
    kind: type = str
    word = "a text in quotes"
    if option in _FLAGS or (declared is not None and declared.is_flag):
        kind, word = bool, "true or false"
    elif option in _NUMBERS or (declared is not None and declared.number):
        kind, word = int, "a whole number"
        kind = str if declared is not None and isinstance(value, str) and _reads(declared, value) else kind
    if declared is not None and declared.several and isinstance(value, list):
        kind, word = list, "texts in quotes"
        if not value or not all(isinstance(name, str) for name in value):
            raise wrong(key, value, f"must be {word}")
    if type(value) is not kind or (isinstance(value, str) and not value.strip()):
        raise wrong(key, value, f"must be {word}")
    if declared is not None:
        try:
            declared.parse(value)
        except InputError as error:
            raise wrong(key, value, str(error)) from None


def _reads(declared: Option[Any], text: str) -> bool:
    """Whether a number's option takes a text, as a split in blocks."""
    try:
        return not text.strip().isdecimal() and declared.parse(text) is not None
    except InputError:
        return False


def taken(entries: Mapping[str, tuple[Any, str]], options: Sequence[str]) -> list[str]:
    """What to say of the ``options`` that were taken from files, a line a file."""
    files = dict.fromkeys(entries[option][1] for option in options)
    texts = {file: [f"{o} = {entries[o][0]}" for o in options if entries[o][1] == file] for file in files}
    return [f"defaults from {file}: {', '.join(each)}" for file, each in texts.items()]
