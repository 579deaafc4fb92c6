"""A run as its JSON has it: read from a file that `mcusim run --json` wrote, checked, for comparison with another."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcusim.display import Displayed
from mcusim.errors import InputError
from mcusim.files import read_guarded, utf8_text
from mcusim.results.measurement.interval import RunFeatures
from mcusim.units import quoted

LARGEST_FILE = 16 << 20
MOST = 10**15  # of any figure
_OPERATORS = 10_000
_BUILDS = 100
_FACTOR = 1000  # the most that a build or peripherals make of a figure
_TEXT = 200  # characters of a name that are kept
Part = tuple[str, str, str]

_NO_RUN = "not the JSON of a run (`mcusim run --json FILE` writes one)"
_OTHERS = {
    frozenset(("stop", "functions", "causes")): "is of an emulated program (`mcusim emulate`), and diff compares"
    " inferences of networks; `mcusim emulate --program FILE` writes what `mcusim compare A.jsonl B.jsonl` puts next to"
    " each other",
    frozenset(("findings", "run")): "is of `mcusim verify`; diff compares runs (`mcusim run --json FILE`)",
}
_SETTINGS = ("model", "model_sha256", "machine", "clock_hz", "policy", "kernels", "fidelity", "sram_budget")
_REASONS = ("does_not_fit", "fault", "unusable")


@dataclass(frozen=True, slots=True)
class SavedOperator(Displayed):
    """``output`` is the name of its first output, '' when it is not known; ``parts``: cycles by cause, region and what;
    ``energy_mj`` is None in files of older versions."""

    index: int
    type: str
    step: int
    cycles: int
    macs: int | None
    energy_mj: float | None
    output: str
    parts: Mapping[Part, int]


@dataclass(frozen=True, slots=True)
class SavedRun(Displayed):
    """``name`` is that of the file. ``settings`` are what the run depends on, as texts. ``figures`` by name, in ms, mJ,
    mA, cycles and bytes; None where the file has none. ``negative`` says why there was no run, else it is None.
    ``situation`` is what it may have in common with measured runs; None in files of older versions."""

    name: str
    settings: Mapping[str, str]
    figures: Mapping[str, float | None]
    clock: int
    operators: tuple[SavedOperator, ...]
    energy_by_part: Mapping[str, float]
    negative: str | None
    situation: RunFeatures | None = None

    @property
    def cycles(self) -> int:
        """Core cycles: the sum of the operators'."""
        return sum(operator.cycles for operator in self.operators)


def read_run(path: str | Path) -> SavedRun:
    """The run in a file. Raises InputError for one that is missing, larger than 16 MiB, or not the JSON of a run."""
    shown = str(path)[:_TEXT]
    data = read_guarded(Path(path), LARGEST_FILE, InputError, shown=shown, too_large="; no run is that large")
    text = utf8_text(data, InputError, shown)
    try:
        value = json.loads(text, parse_constant=no_constant)
    except RecursionError:
        raise InputError(f"{shown}: not the JSON of a run: nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{shown}: not JSON: {str(error)[:_TEXT]}") from None
    return saved_run(value, shown)


def no_constant(name: str) -> float:
    """NaN and infinities are none."""
    raise ValueError(f"{name} is no number of JSON")


def saved_run(data: object, name: str) -> SavedRun:
    """What :func:`mcusim.results.to_json` gives, checked. Raises InputError that names ``name``, the key and its value.

    ``name`` is shown as that of the run.
    """
    whole = _Object(data, name, "")
    for key, what in (("rows", "a comparison"), ("replay", "both fidelities")):
        if key in whole.values and "cycles" not in whole.values:
            raise InputError(f"{name}: holds {what}, not one run; write one with `mcusim run --json FILE`")
    for keys, what in _OTHERS.items():
        if whole.values.keys() >= keys and "fits" not in whole.values:
            raise InputError(f"{name}: {what}")
    ran = whole.flag("fits")
    clock = whole.count("clock_hz", least=1)
    operators = tuple(_operators(whole)) if ran else ()
    cycles = whole.count("cycles") if ran else 0
    if sum(operator.cycles for operator in operators) != cycles:
        has = f"{sum(operator.cycles for operator in operators):,}"
        raise InputError(f"{name}: cycles = {cycles:,}, and its operators take {has}: not what mcusim wrote")
    return SavedRun(
        name=_printable(name),
        settings=dict(_settings(whole)),
        figures=_figures(whole) if ran else {},
        clock=clock,
        operators=operators,
        energy_by_part=_energy(whole) if ran else {},
        negative=None if ran else _reason(whole),
        situation=_situation(whole) if ran else None,
    )


class _Object:
    """A JSON object whose members are read with their types."""

    def __init__(self, values: object, file: str, path: str) -> None:
        self.file, self.path = file, path
        if not isinstance(values, dict):
            raise InputError(f"{file}: {path or 'the file'} is {_kind(values)}, must be an object: {_NO_RUN}")
        self.values: dict[str, Any] = values

    def wrong(self, key: str, wanted: str) -> InputError:
        where = f"{self.path}.{key}".lstrip(".")
        if key not in self.values:
            return InputError(f"{self.file}: has no {where}: {_NO_RUN}")
        return InputError(f"{self.file}: {where} = {_in_error(self.values[key])}: must be {wanted}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a text")
        return _printable(value)

    def flag(self, key: str) -> bool:
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def count(self, key: str, least: int = 0) -> int:
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST:
            raise self.wrong(key, f"a whole number from {least} to {MOST:,}")
        return value

    def number(self, key: str) -> float | None:
        """A number that is not negative; None where it is missing or null."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
            raise self.wrong(key, f"a number from 0 to {MOST:,}")
        return float(value)

    def factors(self, key: str) -> tuple[float, ...]:
        """What a figure may be multiplied by; none where the key is missing."""
        values = self.values.get(key, [])
        if not isinstance(values, list) or len(values) > _BUILDS:
            raise self.wrong(key, f"a list of at most {_BUILDS} numbers")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 1 / _FACTOR <= value <= _FACTOR:
                raise self.wrong(key, f"a list of numbers from 1/{_FACTOR} to {_FACTOR}")
        return tuple(map(float, values))

    def inside(self, key: str) -> _Object | None:
        """The object under ``key``; None where it is missing or null."""
        value = self.values.get(key)
        return None if value is None else _Object(value, self.file, f"{self.path}.{key}".lstrip("."))

    def items(self, key: str, required: bool = False) -> Iterator[_Object]:
        """The objects of the list under ``key``."""
        value = self.values.get(key)
        if value is None and not required:
            return
        if not isinstance(value, list) or len(value) > _OPERATORS:
            raise self.wrong(key, f"a list of at most {_OPERATORS:,} objects")
        for i, item in enumerate(value):
            yield _Object(item, self.file, f"{self.path}.{key}[{i}]".lstrip("."))


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a bool", type(None): "null"}
    return names.get(type(value), "a number")


def _in_error(value: object) -> str:
    """A value as a file has it, cut; what a list or an object holds is left out."""
    if isinstance(value, list | dict):
        return _kind(value)
    return "null" if value is None else quoted(value)


def _shown(value: object) -> str:
    """A setting as text."""
    return _printable(value)[:80] if isinstance(value, str) else _in_error(value)


def _printable(text: str) -> str:
    kept = text if len(text) <= _TEXT else f"{text[:_TEXT]}…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in kept)


def _operators(whole: _Object) -> Iterator[SavedOperator]:
    names = {item.count("index"): item.text("name", "") for item in whole.items("tensors") if item.values.get("name")}
    for index, json_object in enumerate(whole.items("operators", required=True)):
        cycles = json_object.count("cycles")
        parts = _parts(json_object)
        if sum(parts.values()) != cycles:
            has = f"{sum(parts.values()):,}"
            raise InputError(f"{whole.file}: {json_object.path}.cycles = {cycles:,}, and its parts sum to {has}")
        outputs = json_object.values.get("outputs")
        first = outputs[0] if isinstance(outputs, list) and outputs and isinstance(outputs[0], int) else None
        yield SavedOperator(
            index=json_object.count("index"),
            type=json_object.text("type"),
            step=json_object.count("step") if "step" in json_object.values else index,
            cycles=cycles,
            macs=json_object.count("macs") if "macs" in json_object.values else None,
            energy_mj=json_object.number("energy_mj"),
            output="" if first is None else names.get(first, ""),
            parts=parts,
        )


def _parts(operator: _Object) -> dict[Part, int]:
    parts: dict[Part, int] = {}
    if "cycles_by_part" not in operator.values:  # an older file
        causes = operator.inside("cycles_by_cause")
        for cause in causes.values if causes is not None else ():
            assert causes is not None
            parts[_printable(cause), "", ""] = causes.count(cause)
        return parts
    for part in operator.items("cycles_by_part"):
        key = part.text("cause"), part.text("region"), part.text("what")
        parts[key] = parts.get(key, 0) + part.count("cycles")
    return parts


def _energy(whole: _Object) -> dict[str, float]:
    energy: dict[str, float] = {}
    for json_object in whole.items("operators"):
        own = json_object.inside("energy_mj_by_part")
        for part in own.values if own is not None else ():
            assert own is not None
            energy[_printable(part)] = energy.get(_printable(part), 0.0) + (own.number(part) or 0.0)
    return energy


def _figures(whole: _Object) -> dict[str, float | None]:
    flash = whole.inside("flash")
    return {
        "latency": whole.number("latency_ms"),
        "cycles": whole.number("cycles"),
        "energy": whole.number("energy_mj"),
        "current": whole.number("supply_current_ma"),
        "sram": whole.number("peak_sram_bytes"),
        "flash": None if flash is None else flash.number("total_bytes"),
    }


def _situation(whole: _Object) -> RunFeatures | None:
    interval = whole.inside("interval")
    json_object = None if interval is None else interval.inside("situation")
    if json_object is None:
        return None
    mix = json_object.inside("mix")
    shares = () if mix is None else tuple((_printable(name), mix.number(name) or 0.0) for name in mix.values)
    clock = json_object.number("clock")
    if not clock or len(shares) > _OPERATORS or any(share > 1 for _, share in shares):
        raise json_object.wrong("clock" if not clock else "mix", "more than 0" if not clock else "shares from 0 to 1")
    return RunFeatures(
        machine=json_object.text("machine"),
        core=json_object.text("core"),
        code=json_object.text("code"),
        fidelity=json_object.text("fidelity"),
        policy=json_object.text("policy"),
        mix=shares,
        model=json_object.text("model"),
        setting=json_object.text("setting"),
        clock=clock,
        builds=json_object.factors("builds"),
        peripherals=_factor(json_object, "peripherals"),
        unfitted=json_object.number("unfitted") or 0.0,
    )


def _factor(json_object: _Object, key: str) -> float:
    """What a figure is multiplied by, at least 1; 1 where the key is missing."""
    value = json_object.number(key)
    if value is not None and not 1 <= value <= _FACTOR:
        raise json_object.wrong(key, f"a number from 1 to {_FACTOR}")
    return 1.0 if value is None else value


def _settings(whole: _Object) -> Iterator[tuple[str, str]]:
    """What the run depends on: texts and numbers of its head, its options and changed machine keys."""
    for key in _SETTINGS:
        if key in ("model", "machine", "policy", "kernels", "fidelity"):
            yield key, whole.text(key)
        elif key == "clock_hz":
            yield "clock", f"{whole.count(key) / 1e6:g} MHz"
        elif whole.values.get(key) is not None:
            yield key, _shown(whole.values[key])
    for title, table in (("option", "options"), ("set", "set")):
        values = whole.inside(table)
        for key, value in sorted((values.values if values is not None else {}).items()):
            text = _flat(value)
            if text is not None and (table, key) != ("options", "sram_budget"):
                yield f"{title} {_printable(key)}", text


def _flat(value: object) -> str | None:
    """A setting as text; None for one that is not set, or is a table of its own."""
    if value is None or isinstance(value, dict):
        return None
    return ", ".join(_shown(item) for item in value[:40]) if isinstance(value, list) else _shown(value)


def _reason(whole: _Object) -> str:
    for key in _REASONS:
        value = whole.values.get(key)
        if isinstance(value, str):
            return _printable(value)
    fault, short = whole.inside("fault"), whole.inside("does_not_fit")
    if short is not None:
        what, needed, has = short.text("what", "it"), short.count("needed"), short.count("available")
        return f"does not fit: {what} needs {needed:,} B in {short.text('region')}, which has {has:,} B"
    if fault is not None:
        return f"kernel {fault.text('symbol')} faulted: {fault.text('text')}"
    raise InputError(f"{whole.file}: fits = false, and no reason is there: not the JSON of a run")
