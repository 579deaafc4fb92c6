"""A run as the words of a command line, so that what was tried can be done again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from mcusim.plan import declared_options
from mcusim.request.settings import Settings

__all__ = ["Options", "run_command", "settings_options"]

Options = Mapping[str, str | Sequence[str] | bool | None]
"""Values by the name of the option, without dashes: a text, several, or whether it is given; None is not given."""


def run_command(model: str, options: Options) -> str:
    """``mcusim run`` of ``model`` with ``options``, quoted for a POSIX shell."""
    words: list[str] = []
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value:
            for text in [value] if isinstance(value, str) else value:
                words += [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]
    tail = ["--", model] if model.startswith("-") else []
    return shlex.join(["mcusim", "run", *([] if tail else [model]), *words, *tail])


def settings_options(
    machine: str, changes: Mapping[str, str], chosen: Settings
) -> dict[str, str | list[str] | bool | None]:
    """The options of ``mcusim run`` that ask for ``chosen`` on ``machine`` with ``changes`` of its keys.

    Not modelled: inputs from arrays, limits, and what unknown operators cost.
    """
    options, asked, period = chosen.options, chosen.execution, chosen.period
    return {
        "machine": machine,
        "policy": chosen.policy,
        "set": [f"{key}={value}" for key, value in changes.items()],
        **{
            one.flag: options[one] if one.is_flag else one.text(options[one])
            for one in declared_options().values()
            if options[one] != one.default
        },
        "kernels": chosen.kernels.name,
        "code": asked.code,
        "operator-overhead": None if asked.overhead is None else str(asked.overhead),
        "invocations": None if asked.invocations == 1 else str(asked.invocations),
        "period": None if period is None else period.text,
        "battery": None if period is None or period.battery is None else period.battery.name,
    }
