"""Which run reproduces which published row: ``published_runs.toml`` as data.

Not modelled: whether the publication's binary was built like ours; ``why`` of a run says what is known of that.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from mcusim.measurements.published.rows import memory_rows, rows
from mcusim.plan.options import RUNTIME
from mcusim.plan.registry import declared_options, policy_options

_PROGRAMS = "mcusim/kernels/test_programs/elf"  # the test programs, in the checkout
_TASKS = "mcusim/measurements/published/programs"  # programs as `mcusim replay` plays them
_KERNELS = "mcusim/measurements/published/kernels"  # kernel sets that were made for a row's network
_USED = "duplicate"  # the use of a row that repeats an experiment of another table


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """``model`` is a name of `mcusim models`, or a file's name with its ``sha256``.

    ``cannot``, when it is set, says why nothing here reproduces the rows; else ``fidelity`` is ``replay``, ``emulate``
    or ``plan``, which runs nothing. ``options`` are those of the plan, by name, as the file has them; ``place`` is the
    run's in the file. A memory micro-benchmark calls ``function`` of the program ``model`` with
    ``arguments``, or replays the tasks of the file ``model``; it makes ``accesses``, on the machine with ``changes``.
    """

    model: str
    sha256: str | None = None
    fidelity: str = ""
    machine: str = ""
    policy: str = ""
    kernels: str = ""
    options: tuple[tuple[str, str], ...] = ()
    order: str = "default"
    allocator: str = ""
    function: str = ""
    arguments: tuple[str, ...] = ()
    accesses: int = 0
    changes: tuple[tuple[str, str], ...] = ()
    why: str = ""
    cannot: str | None = None
    place: int = field(default=0, compare=False)

    @property
    def tasks(self) -> bool:
        """Whether ``model`` is a file of tasks, of this package's ``programs``."""
        return self.model.endswith(".jsonl")

    @property
    def own_kernels(self) -> Path | None:
        """The folder of ``kernels`` where that is a set of this package's, made for the row's network."""
        folder = Path(str(files("mcusim.measurements.published"))) / "kernels" / self.kernels
        return folder if self.kernels and folder.is_dir() else None

    @property
    def command(self) -> str:
        """The command that repeats it; empty when nothing does. Model files are named without their folder."""
        if self.cannot is not None:
            return ""
        changes = "".join(f' --set {key}="{value}"' for key, value in self.changes)
        if self.tasks:
            return f"mcusim replay {_TASKS}/{self.model} -m {self.machine}{changes}"
        if self.function:
            called = f"--call {self.function} --args {','.join(self.arguments)}"
            return f"mcusim emulate {_PROGRAMS}/{self.model} -m {self.machine}{changes} {called}"
        steps, model = [], self.model
        arranged = f" --order {self.order}" * (self.order != "default") + f" --allocator {self.allocator}"
        if self.fidelity == "plan":
            return f"mcusim memory {model}{arranged}"
        if self.order == "optimal":
            steps.append(f"mcusim reorder {model} -o less.tflite")
            model = "less.tflite"
        declared = declared_options()
        options = "".join(f" --{declared[name].flag} {_quoted(text)}" for name, text in self.options)
        kernels = f"{_KERNELS}/{self.kernels}" if self.own_kernels else self.kernels
        chosen = f" -p {self.policy} --kernels {kernels}{options}"
        steps.append(f"mcusim run {model} -m {self.machine}{chosen} --fidelity {self.fidelity}")
        if self.allocator:
            steps.append(f"mcusim memory {self.model}{arranged} -m {self.machine}")
        return " && ".join(steps)


@dataclass(frozen=True, slots=True)
class Published:
    """A row of ``published.csv``, its ``tables`` (several where it is printed twice), its ``use`` and its run.

    ``use`` is ``calibrate``, ``validate`` or ``context``, never ``duplicate``.
    """

    row: Mapping[str, str]
    tables: tuple[str, ...]
    use: str
    run: PublishedRun


@cache
def published() -> tuple[Published, ...]:
    """All rows, each experiment once, in the order of ``published.csv``; then the memory micro-benchmarks.

    A ``duplicate`` row whose number is in another table too is that row's second place. One whose number is
    printed nowhere else (MACs, file size and arena of an experiment that was calibrated on) counts as the experiment
    does: nothing that was used for calibration is called validated.
    """
    document, published_rows = _document(), []
    by_number: dict[tuple[str, ...], list[Mapping[str, str]]] = {}
    uses: dict[tuple[str, ...], set[str]] = {}
    for row in (*rows(), *memory_rows()):
        by_number.setdefault(_number(row), []).append(row)
        uses.setdefault(_experiment(row), set()).add(row["use"])
    for same in by_number.values():
        row = next((candidate for candidate in same if candidate["use"] != _USED), same[0])
        use = row["use"]
        if use == _USED:
            (use,) = uses[_experiment(row)] - {_USED}
        published_rows.append(
            Published(row, tuple(sorted({texts["table"] for texts in same})), use, _run(row, document))
        )
    return tuple(published_rows)


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text else text


def _experiment(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[key] for key in ("source", "board", "engine", "kernels", "placement", "model"))


def _number(row: Mapping[str, str]) -> tuple[str, ...]:
    return (*_experiment(row), row["quantity"])


def _document() -> Mapping[str, Any]:
    text = files("mcusim.measurements.published").joinpath("published_runs.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _run(row: Mapping[str, str], document: Mapping[str, Any]) -> PublishedRun:
    places = [index for index, entry in enumerate(document["run"]) if _belongs(row, entry["rows"])]
    assert len(places) == 1, f"published_runs.toml has {len(places)} runs for {_number(row)}"
    entry = {key: value for key, value in document["run"][places[0]].items() if key != "rows"}
    name = row["model"].partition(" (")[0]
    call = document["call"].get(name)
    if call is not None and "program" in entry:
        changes = entry.pop("set") | call.get("set", {})
        entry |= {key: value for key, value in call.items() if key != "set"}
        entry |= {"arguments": tuple(entry.get("arguments", ())), "changes": tuple(changes.items())}
        return PublishedRun(entry.pop("program"), place=places[0], **entry)
    model = document["model"].get(name, {"zoo": name + entry.pop("form", "")})
    entry["options"] = tuple((name, entry.pop(name)) for name in (*policy_options(), RUNTIME.name) if name in entry)
    return PublishedRun(model.get("zoo") or model["file"], model.get("sha256"), place=places[0], **entry)


def _belongs(row: Mapping[str, str], wanted: Mapping[str, str | Sequence[str]]) -> bool:
    return all(row[key] == value if isinstance(value, str) else row[key] in value for key, value in wanted.items())
