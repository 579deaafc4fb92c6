"""The commands there are, in groups: each one's name, the module that has its function, and what its user wants.

The function has the last word of the name. A module is imported when its command is run or its help is shown, and not
before. Not modelled: names of three words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

from mcusim.commands.shared.policy_help import PolicyHelp

COMMANDS: dict[str, list[tuple[str, str, str]]] = {
    "A network on a board": [
        ("run", "mcusim.commands.simulation.run", "One inference: does it fit, cycles, latency, energy, memory."),
        ("compare", "mcusim.commands.simulation.compare", "Models x machines x policies in one table."),
        ("advise", "mcusim.commands.simulation.advise", "The best use of a board for a model, searched for."),
        ("engines", "mcusim.commands.simulation.engines", "Which inference engine on which board."),
        ("diff", "mcusim.commands.simulation.diff", "What changed between two saved runs, operator by operator."),
        ("sweep", "mcusim.commands.simulation.sweep", "Many points of a study, on all cores or a cluster."),
        ("plan", "mcusim.commands.simulation.run", "Write the program that a policy makes of a model."),
        ("replay", "mcusim.commands.simulation.run", "Simulate a saved program."),
    ],
    "Networks and machines": [
        ("models", "mcusim.commands.models.inspect", "The networks that are built in memory."),
        ("inspect", "mcusim.commands.models.inspect", "A model's operators, MACs and peak memory."),
        ("export", "mcusim.commands.models.export", "Write a network as a .tflite."),
        ("memory", "mcusim.commands.models.memory", "When tensors are alive, and where allocators put them."),
        ("reorder", "mcusim.commands.models.reorder", "The order of operators that needs least memory."),
        ("nas front", "mcusim.commands.nas.nas_front", "Score against latency on several boards."),
        ("nas search", "mcusim.commands.nas.nas_search", "The best networks of a search space for a board."),
        ("nas stats", "mcusim.commands.nas.nas_stats", "Which search space is the best for a board (TinyNAS)."),
        ("machines", "mcusim.commands.models.inspect", "The boards, every figure with its basis and source."),
    ],
    "Compiled code": [
        ("generate", "mcusim.commands.models.generate", "Write a model as C for a board."),
        ("emulate", "mcusim.commands.firmware.emulate", "Run firmware and see where its cycles go."),
        ("session", "mcusim.commands.firmware.session", "Load modules into a device, call and time functions."),
        ("tune", "mcusim.commands.tune.tune", "Tune kernels to layers and a board."),
        ("kernels", "mcusim.commands.firmware.kernels", "The sets of compiled kernels."),
        ("kernels build", "mcusim.commands.firmware.kernels", "Build kernel sets from their C sources."),
    ],
    "Trust": [
        ("verify", "mcusim.commands.validation.verify", "Prove a program right for every timing; watch a firmware."),
        ("validate", "mcusim.commands.validation.validate", "Published measurements next to simulated ones."),
        ("calibrate", "mcusim.commands.validation.calibrate", "Fit a machine to your own measurements."),
    ],
    "Teaching": [
        ("lab", "mcusim.commands.teaching.lab", "Guided exercises: predict, run, compare, explain."),
        ("lab export", "mcusim.commands.teaching.lab", "A lab as a folder for browsers, without Python and network."),
        ("lab collect", "mcusim.commands.teaching.lab", "Grades and typical mistakes of a class."),
        ("lab check", "mcusim.commands.teaching.lab", "Whether a lab of your own is right."),
    ],
}
_BY_NAME = {name: (module, short) for commands in COMMANDS.values() for name, module, short in commands}


def function_of(name: str) -> Callable[..., int]:
    """The function of a command. Raises KeyError for one that is not there."""
    command: Callable[..., int] = getattr(import_module(_BY_NAME[name][0]), name.rsplit(maxsplit=1)[-1])
    return command


class Commands(Mapping[str, Any]):
    """The commands by name, each as typer makes it of its function, once."""

    def __getitem__(self, name: str) -> Any:
        return _made(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_BY_NAME)

    def __len__(self) -> int:
        return len(_BY_NAME)

    def __contains__(self, name: object) -> bool:
        return name in _BY_NAME


@cache
def _made(name: str) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=PolicyHelp, short_help=_BY_NAME[name][1])(function_of(name))
    return get_command(app)
