"""Trials of other layers or boards, from their logs, for a tuner to learn from.

Not modelled: trials of other templates; what a template's knobs do depends on the template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.errors import InputError, McusimError, UsageError
from mcusim.model.geometry import Geometry
from mcusim.record_log import read_log
from mcusim.tuning.features import ConfigFeatures
from mcusim.tuning.log import TUNING_LOG, TrialRecord
from mcusim.tuning.template import open_template

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.tuning.config_space import Config


@dataclass(frozen=True)
class WarmTrial:
    """A right one: its ``features``, and its cycles ``against_default``, of its own layer's plain configuration."""

    template: str
    config: Config
    features: np.ndarray[Any, np.dtype[np.float64]]
    against_default: float


def warm_trials(paths: Sequence[Path], machine: Machine, templates: Sequence[str]) -> list[WarmTrial]:
    """The trials in logs that were made with ``templates`` (names or folders).

    Their features are those of their layers; of another machine, if it is not one that ships, those of ``machine``.
    Raises UsageError for a file that is no log, and where none of them has a trial of these templates.
    """
    known = {open_template(name).name: name for name in templates}
    trials: list[WarmTrial] = []
    for path in paths:
        log = read_log(path, TUNING_LOG)
        board = _board(log.head.get("machine"), machine)
        records: dict[str, list[TrialRecord]] = {}
        for record in log.records:
            records.setdefault(record.task, []).append(record)
        for name, task in (log.head.get("tasks") or {}).items():
            if isinstance(task, dict) and task.get("template") in known:
                trials += _of_task(path, task, records.get(name, []), board, known[task["template"]])
    if not trials:
        raise UsageError(
            f"{', '.join(map(str, paths))}: no right trial of {', '.join(known)}; there is nothing to learn"
        )
    return trials


def _board(name: object, machine: Machine) -> Machine:
    from mcusim.machine import load_machine, machine_names

    return load_machine(name) if isinstance(name, str) and name in machine_names() else machine


def _of_task(
    path: Path, task: Mapping[str, Any], records: Sequence[TrialRecord], machine: Machine, name: str
) -> list[WarmTrial]:
    try:
        template = open_template(name)
        if not all(type(side) is int and 0 <= side < 1 << 31 for side in task["shape"].values()):
            raise UsageError("its shape has sides that are no whole numbers")
        g = Geometry(type=task["operator"], **task["shape"])
        space = template.space(g)
        places = {operand: _region(machine, region) for operand, region in task["places"].items()}
        features = ConfigFeatures(g, places, machine, template, space)
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError, InputError) as error:
        raise UsageError(f"{path}: its first line has no layer to learn from: {str(error)[:120]}") from None
    base = next((record.cycles for record in records if record.trial == 0), None)
    trials = []
    for record in records:
        try:
            number = space.number(record.config)
        except McusimError:  # the template has other values by now
            continue
        if record.cycles and base:
            trials.append(WarmTrial(template.name, record.config, features.of(number), record.cycles / base))
    return trials


def _region(machine: Machine, name: str) -> str:
    return name if name in machine.memory else next(iter(machine.memory))
