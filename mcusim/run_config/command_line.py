"""A run as the words of a command line, so that what was tried can be done again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcusim.plan import declared_options
from mcusim.plan.options import RUNTIME, Option, OptionValues
from mcusim.plug_ins import source
from mcusim.run_config.run_options import RUN
from mcusim.run_config.settings import Settings

Options = Mapping[str, str | Sequence[str] | bool | None]
"""Values by the name of the option, without dashes: a text, several, or whether it is given; None is not given."""


def run_command(model: str, options: Options, command: str = "run") -> str:
    """``mcusim run`` (or another ``command``) of ``model`` with ``options``, quoted for a POSIX shell."""
    words: list[str] = []
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value:
            for text in [value] if isinstance(value, str) else value:
                words += [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]
    tail = ["--", model] if model.startswith("-") else []
    return shlex.join(["mcusim", command, *([] if tail else [model]), *words, *tail])


def settings_options(
    machine: str, changes: Mapping[str, str], chosen: Settings
) -> dict[str, str | list[str] | bool | None]:
    """The options of ``mcusim run`` that ask for ``chosen`` on ``machine`` with ``changes`` of its keys.

    Not modelled: inputs from arrays, limits, and what unknown operators cost.
    """
    return {
        "machine": machine,
        "policy": source("policy", chosen.policy),
        "set": [f"{key}={value}" for key, value in changes.items()],
        **_words(chosen.options, declared_options().values()),
        **_runtime(chosen.options[RUNTIME]),
        "kernels": chosen.kernels.name if chosen.kernels.named else None,
        **({} if chosen.fidelity == "replay" else {"fidelity": chosen.fidelity}),
        **_words(chosen.run, RUN),
    }


def _runtime(name: str) -> dict[str, str | bool]:
    """Of a runtime from outside the path of its file."""
    return {} if source(RUNTIME.name, name) == name else {RUNTIME.flag: source(RUNTIME.name, name)}


def _words(chosen: OptionValues, declared: Iterable[Option[Any]]) -> dict[str, str | bool]:
    """Flags and texts of the values that are not the default."""
    values = {option: chosen[option] for option in declared if chosen[option] != option.default}
    flags = {option.flag if value else f"no-{option.flag}": True for option, value in values.items() if option.is_flag}
    return flags | {option.flag: option.to_cli(value) for option, value in values.items() if not option.is_flag}
