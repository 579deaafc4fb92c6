"""Study files: TOML that names models, machines and policies, and what to vary.

::

    title = "SDRAM against QSPI"
    question = "..."
    models = ["ds-cnn"]                  # names of `mcusim models`, or paths relative to this file
    machines = ["stm32f746g-disco"]      # names of `mcusim machines`, or paths relative to this file; "all" that ship
    policies = ["internal", "external"]
    kernels = ["cmsis-2021-gcc9"]        # may be left out, as in `mcusim run`
    fidelity = "replay"                  # may be left out; or "emulate", or both in a list
    allow_unknown = true                 # may be left out; as in `mcusim run`, and so are the costs of such operators

    [costs]
    GATHER_ND = "12 cycles/B"

    [axes]                               # machine keys, or options of `mcusim run`: sram_budget, weights, overlay ...
    "memory.sdram.timing.tRCD" = ["2 sdclk", "3 sdclk"]
    sram_budget = { low = "64 KiB", high = "320 KiB", step = "32 KiB" }

    [sampling]                           # may be left out: a grid
    method = "latin-hypercube"           # or "grid"; or "list", which takes one value of each axis at a time
    points = 100                         # the same 100 for each model, machine, policy and kernels
    seed = 1
    where = ["sram_budget <= 262144"]

    [derived]
    edp = "energy_mj * latency_ms"

Every key is checked before the first point is run. Not modelled: axes that belong to some of the models, machines or
policies alone; ``where`` drops what does not apply.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from mcusim.errors import InputError, StudyError
from mcusim.machine import load_machine, machine_names
from mcusim.machine.clock_rules import clock_columns
from mcusim.machine.description import Machine
from mcusim.machine.document import show
from mcusim.machine.loader import has_key, require_value
from mcusim.machine.toml_file import read_toml
from mcusim.plan import policy_names, takers
from mcusim.plan.options import RUNTIME, without_effect
from mcusim.plan.registry import find_policy
from mcusim.plug_ins import is_path
from mcusim.program.unknown_operators import Costs, parse_costs
from mcusim.run_config.kernel_choice import FIDELITIES, resolve
from mcusim.runtime.runtime import find_runtime
from mcusim.sweeps.axis_values import CLOCKS, MACHINE_OPTIONS, OPTIONS, REGIONS, axis_values, distinct
from mcusim.sweeps.expressions import Expression, Value, parse
from mcusim.sweeps.study import METHODS, OUTPUTS, PERIOD, TAIL, Axis, Sampling, Study, exists, study_folder, study_names
from mcusim.units import quoted

ALL = "all"  # every machine that ships
MOST_NAMES = 1000
MOST_POINTS = 100_000
KEYS = (
    "title", "question", "models", "machines", "policies", "kernels", "fidelity", "allow_unknown", "costs", "axes",
    "sampling", "derived",
)  # fmt: skip
SAMPLING = ("method", "points", "seed", "where")
_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def read_study(path_or_name: str | Path) -> Study:
    """The study of a file, or the shipped one of that name. Raises StudyError naming file, line, key and value."""
    text = str(path_or_name)
    if isinstance(path_or_name, str) and text in study_names():
        path = study_folder() / f"{text}.toml"
        return study_of(read_toml(path, path.name, "study", StudyError), path.name, None, path.stem)
    path = Path(path_or_name)
    if not text.endswith(".toml") and "/" not in text and not exists(path):
        close = get_close_matches(text[:80], study_names(), n=1)
        hint = f', did you mean "{close[0]}"' if close else ""
        raise StudyError(f"no study {quoted(text)}{hint}: neither a file nor one that ships ({_listed()})")
    shown = path.name or str(path)
    shown = shown if shown.isprintable() else quoted(shown)
    return study_of(read_toml(path, shown, "study", StudyError), shown, path.parent, path.stem)


def _listed() -> str:
    return ", ".join(study_names()) or "none does"


def study_of(
    document: tuple[Mapping[str, Any], Mapping[str, int]], shown: str, folder: Path | None, name: str
) -> Study:
    """The study of a parsed TOML document and the lines of its keys. Raises StudyError."""
    return _StudyReader(*document, shown).study(folder, name)


def _relative_files(study: Study, key: str, raw: Any) -> Any:
    """The values of an axis; files that they name are relative to the study's."""
    named = key == RUNTIME.name or key.endswith(".replacement")
    if not named or study.folder is None or not isinstance(raw, list):
        return raw
    return [str(study.folder / text) if isinstance(text, str) and is_path(text) else text for text in raw]


def names_of_files(models: Sequence[str]) -> dict[str, str]:
    """``models`` as the table names them, each with what the study calls it: a file by its name alone, as ``mcusim
    run`` names it, with as many folders before it as tell it from the others."""
    candidates = {model: list(dict.fromkeys(_shorter_names(model))) for model in models}
    counts = Counter(name for names in candidates.values() for name in names)
    return {next((name for name in names if counts[name] == 1), model): model for model, names in candidates.items()}


def _shorter_names(model: str) -> Iterator[str]:
    """The name of a model's file, the same with its folders, and it as it is; with its ending where a network of the
    zoo has the name."""
    from mcusim.model.zoo import parse_name

    path = Path(model)
    name = path.stem if path.suffix == ".tflite" and parse_name(path.stem) is None else path.name
    folders = path.relative_to(path.anchor).parts[:-1]
    yield from ("/".join((*folders[len(folders) - count :], name)) for count in range(len(folders) + 1) if name)
    yield model


class _StudyReader:
    """One reading of one document."""

    def __init__(self, raw: Mapping[str, Any], lines: Mapping[str, int], shown: str) -> None:
        self.raw, self.lines, self.shown = raw, lines, shown

    def problem(self, key: str, rule: str, value: object = None) -> StudyError:
        return StudyError(f"{self._place(key, value)}: {rule}")

    def _place(self, key: str, value: object = None) -> str:
        line = self.lines.get(key)
        where = f"{self.shown}:{line}" if line else self.shown
        what = key if value is None else f"{key} = {show(value)}"
        plain = what if what.isprintable() else what.encode("unicode_escape").decode("ascii")
        return f"{where}: {plain[:300]}"

    def study(self, folder: Path | None, name: str) -> Study:
        self._known("", self.raw, KEYS)
        fidelities = self._names("fidelity", FIDELITIES, ["replay"])
        files = names_of_files(self._names("models"))
        study = Study(
            name=name,
            models=tuple(files),
            files=files,
            machines=self._machine_names(),
            policies=self._policies(folder),
            kernels=self._names("kernels") if "kernels" in self.raw else (),
            fidelities=fidelities,
            title=self._plain("title"),
            question=self._plain("question"),
            folder=folder,
            allow_unknown=self._flag("allow_unknown"),
            costs=self._costs(),
        )
        self._models(study)
        machines = self._machines(study)
        axes = tuple(self._axis(key, value, study, machines) for key, value in self._flat(self._table("axes")).items())
        study = replace(study, axes=axes, sampling=self._sampling(axes))
        self._runtimes(study)
        self._kernels(study)
        study = replace(study, where=self._where(study))
        return replace(study, derived=self._derived(study, machines))

    def _known(self, table: str, raw: Mapping[str, Any], keys: Iterable[str]) -> None:
        for key in raw:
            if key not in keys:
                close = get_close_matches(key[:80], list(keys), n=1)
                hint = f', did you mean "{close[0]}"' if close else ""
                where = f"[{table}]" if table else "a study"
                full = f"{table}.{key}" if table else key
                raise self.problem(full, f"unknown key{hint}: {where} has {', '.join(keys)}")

    def _table(self, key: str) -> Mapping[str, Any]:
        table = self.raw.get(key, {})
        if not isinstance(table, dict):
            raise self.problem(key, "must be a table", table)
        return table

    def _plain(self, key: str) -> str:
        plain = self.raw.get(key, "")
        if not isinstance(plain, str) or len(plain) > 2000:
            raise self.problem(key, "must be a text of at most 2,000 characters", plain)
        return plain

    def _flag(self, key: str) -> bool:
        flag = self.raw.get(key, False)
        if not isinstance(flag, bool):
            raise self.problem(key, "must be true or false", flag)
        return flag

    def _costs(self) -> Costs:
        table = self._table("costs")
        for name, text in table.items():
            if not isinstance(text, str):
                raise self.problem(f"costs.{name}", 'must be a text like "12 cycles/B" or "5000 cycles"', text)
            self._try(f"costs.{name}", text, parse_costs, {name: text})
        return tuple(sorted(table.items()))

    def _machine_names(self) -> tuple[str, ...]:
        names = self._names("machines")
        if ALL not in names:
            return names
        if len(names) > 1:
            raise self.problem("machines", f"{ALL!r} is every machine that ships, and alone", list(names))
        return machine_names()

    def _names(self, key: str, known: Iterable[str] | None = None, default: list[str] | None = None) -> tuple[str, ...]:
        """A text or a list of texts, each once, of ``known`` ones."""
        if key not in self.raw and default is None:
            raise self.problem(key, f"is missing: a study names its {key}")
        names_or_name = self.raw.get(key, default)
        names = [names_or_name] if isinstance(names_or_name, str) else names_or_name
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
            raise self.problem(key, "must be a list of names in quotes", names_or_name)
        if len(names) > MOST_NAMES:
            raise self.problem(key, f"names {len(names):,}; at most {MOST_NAMES:,}")
        if len(set(names)) < len(names):
            raise self.problem(key, "names one of them twice", names_or_name)
        for name in names:
            if known is not None and name not in known:
                raise self.problem(key, f"there is no {quoted(name)}; there are {', '.join(known)}", names_or_name)
        return tuple(names)

    def _policies(self, folder: Path | None) -> tuple[str, ...]:
        """By name, or by the path of a file, relative to the study's."""
        names = self._names("policies")
        if not any(map(is_path, names)):
            names = self._names("policies", policy_names())
        files = [str(folder / name) if folder is not None and is_path(name) else name for name in names]
        return tuple(self._try("policies", list(names), find_policy, name).name for name in files)

    def _models(self, study: Study) -> None:
        from mcusim.model.zoo import parse_name

        for name in study.models:
            if parse_name(name) is None and not exists(Path(study.model_path(name))):
                named = quoted(study.files[name])
                rule = f"no model {named}: neither a file in the study's folder nor a name of `mcusim models`"
                raise self.problem("models", rule, list(study.files.values()))

    def _machines(self, study: Study) -> list[Machine]:
        named = list(study.machines)
        return [self._try("machines", named, load_machine, study.machine_path(name)) for name in named]

    def _kernels(self, study: Study) -> None:
        for fidelity in study.fidelities:
            for name in dict.fromkeys((*study.kernels, *study.all_kernels)):
                self._try("kernels", list(study.kernels) or None, resolve, study.kernels_path(name), fidelity)
        unused = [name for name in study.kernels if name not in study.all_kernels]
        if unused:
            rule = "no runtime of the study takes them: its runtimes have kernels of their own, {}"
            raise self.problem("kernels", rule.format(", ".join(study.all_kernels)), unused)

    def _try(self, key: str, value: object, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except InputError as error:
            raise self.problem(key, str(error), value) from None

    def _flat(self, table: Mapping[str, Any], path: str = "") -> dict[str, Any]:
        """Axes by their dotted keys, quoted or not."""
        flat: dict[str, Any] = {}
        for key, value in table.items():
            full = f"{path}.{key}" if path else key
            if isinstance(value, dict) and not {"low", "high", "step"} & value.keys():
                if not value:
                    raise self.problem(f"axes.{full}", "is an empty table")
                inner = self._flat(value, full)
            else:
                inner = {full: value}
            for axis in inner:
                if axis in flat:
                    raise self.problem(f"axes.{axis}", "is there twice")
            flat |= inner
        return flat

    def _axis(self, key: str, raw: Any, study: Study, machines: list[Machine]) -> Axis:
        where = f"axes.{key}"
        if key in KEYS or key in ("model", "machine", "policy"):
            raise self.problem(where, f"{key} is not an axis; name several in the list at the top of the study")
        if not set(takers(key)) & set(study.policies):
            names = ", ".join(study.policies)
            raise self.problem(where, f"has no effect under {names}; it is for {', '.join(takers(key))}")
        values = self._try(where, raw, axis_values, key, _relative_files(study, key, raw))
        if key in REGIONS:
            self._regions(where, raw, values, machines)
        if key not in OPTIONS:
            named = MACHINE_OPTIONS.get(key, key)
            if named != key and named in self._flat(self._table("axes")):
                raise self.problem(where, f"is short for {named}, which is an axis too")
            having = [machine for machine in machines if has_key(machine, named)]
            if not having:
                close = get_close_matches(key[:80], [*OPTIONS, *MACHINE_OPTIONS, *machines[0].figures], n=1)
                hint = f', did you mean "{close[0]}"' if close else ""
                known = ", ".join([*MACHINE_OPTIONS, *OPTIONS])
                rule = f"unknown key{hint}: an axis is a key of a machine, or one of {known}"
                raise self.problem(where, rule)
            # of a range the ends: what is between them differs in the number alone
            for value in (values[0], values[-1]) if isinstance(raw, dict) else values:
                self._try(where, raw, require_value, having[0], named, value)
        return Axis(key, values)

    def _runtimes(self, study: Study) -> None:
        """Refuse axes that say nothing of any runtime of the study."""
        named = next((axis.values for axis in study.axes if axis.key == RUNTIME.name), (RUNTIME.default,))
        runtimes = [find_runtime(str(name)) for name in named]
        for axis in study.axes:
            if all(without_effect(runtime, [axis.key]) for runtime in runtimes):
                names = " or ".join(runtime.name for runtime in runtimes)
                raise self.problem(f"axes.{axis.key}", f"has no effect with runtime {names}; it is for compiled code")

    def _regions(self, where: str, raw: Any, values: Iterable[Value], machines: list[Machine]) -> None:
        known = sorted({region for machine in machines for region in machine.memory})
        for value in values:
            if value is not None and value not in known:
                raise self.problem(where, f"there is no region {quoted(value)}; there are {', '.join(known)}", raw)

    def _sampling(self, axes: tuple[Axis, ...]) -> Sampling:
        raw = self._table("sampling")
        self._known("sampling", raw, SAMPLING)
        method = raw.get("method", "grid")
        if method not in METHODS:
            raise self.problem("sampling.method", f"must be one of {', '.join(METHODS)}", method)
        if method != "grid" and not axes:
            raise self.problem("sampling.method", "needs axes; the study has none", method)
        if method == "latin-hypercube":
            points = self._whole("points", raw.get("points"), 1, MOST_POINTS)
            return Sampling(method, points, self._whole("seed", raw.get("seed", 0), 0, 1 << 63))
        for key in ("points", "seed"):
            if key in raw:
                raise self.problem(f"sampling.{key}", f"has no effect with {method}; it is for latin-hypercube")
        if method == "list" and len({len(axis.values) for axis in axes}) > 1:
            lengths = ", ".join(f"{axis.key} {len(axis.values)}" for axis in axes)
            raise self.problem("sampling.method", f"a list takes one value of each axis at a time, but has {lengths}")
        for axis in axes:
            if method == "grid" and not distinct(axis.values):
                raise self.problem(f"axes.{axis.key}", "has a value twice")
        return Sampling(method)

    def _whole(self, key: str, value: object, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            rule = f"latin-hypercube needs a whole number from {least} to {most:,}"
            raise self.problem(f"sampling.{key}", rule, value)
        return value

    def _where(self, study: Study) -> tuple[Expression, ...]:
        raw = self._table("sampling").get("where", [])
        texts = [raw] if isinstance(raw, str) else raw
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self.problem("sampling.where", "must be a list of expressions in quotes", raw)
        return tuple(self._expression("sampling.where", text, study.inputs) for text in texts)

    def _expression(self, key: str, text: str, known: Collection[str]) -> Expression:
        expression: Expression = self._try(key, text, parse, text, known)
        return replace(expression, place=self._place(key, text))

    def _derived(self, study: Study, machines: list[Machine]) -> dict[str, Expression]:
        regions = {f"peak_{region}" for machine in machines for region in machine.memory}
        known = [*study.inputs, *OUTPUTS, *sorted(regions)]
        if set(CLOCKS) & set(study.inputs):
            known += sorted({name for machine in machines for name in clock_columns(machine)})
        known += PERIOD if "period" in study.inputs else ()
        expressions: dict[str, Expression] = {}
        for name, text in self._table("derived").items():
            where = f"derived.{name}"
            if not _COLUMN.fullmatch(name):
                raise self.problem(where, "a column's name has 1 to 64 letters, digits and _")
            if name in known or name in (*TAIL, "left_out") or name in ("true", "false", "none", "column"):
                raise self.problem(where, "is the name of another column, or means something else")
            if not isinstance(text, str):
                raise self.problem(where, "must be an expression in quotes", text)
            expressions[name] = self._expression(where, text, known)
            known.append(name)
        return expressions
