"""A user's measurements: the CSV that ``mcusim calibrate`` reads.

One line a measured number, the first line names the columns, in any order; lines that begin with ``#`` are comments,
unless a quoted cell continues there. Lines end with CR, LF or both.

=============  ====================================================================================================
``model``      a ``.tflite`` (relative to the CSV) or a name of ``mcusim models``
``policy``     ``internal``, ``external`` or ``tinyops``: where the network's bytes were
``kernels``    a cost profile or kernel set, by default that of ``mcusim run``
``fidelity``   ``replay`` (the default) or ``emulate``
``program``    instead of a model: an ELF (relative to the CSV) or a test program that ships (``memory``)
``function``   the function of ``program`` that was timed, as CYCCNT counts from call to return
``arguments``  its arguments, separated by blanks: integers or names of symbols
``quantity``   ``latency_ms``, ``cycles``, ``supply_current_ma`` or ``energy_mj``; of a program one of the first two
``value``      a plain number above zero in the unit that the quantity's name ends with
``weights``    the region that weights were read from, if not the policy's own choice
``sram_budget``  the limit of on-chip RAM that the plan had (``256 KiB``)
``code``       the region that kernels ran from, if not the first flash
``set``        what was set otherwise than the machine file has it: ``core.clock=200 MHz; memory.flash.wait_states=6``
``note``       anything; not read
=============  ====================================================================================================

``quantity`` and ``value`` are always needed, ``model`` and ``policy`` or ``program`` and ``function`` too; columns that
no line needs can be left out, cells that do not apply are empty. Not modelled: an error of each measurement (all lines
weigh the same, relative to their value), and anything measured inside a run, such as one operator's cycles.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from pathlib import Path

from mcusim.errors import UsageError
from mcusim.files import read_guarded, utf8_text
from mcusim.units import quoted

LARGEST_FILE = 1 << 20
MOST_ROWS = 500
COLUMNS = (
    "model", "policy", "kernels", "fidelity", "program", "function", "arguments", "quantity", "value", "weights",
    "sram_budget", "code", "set", "note",
)  # fmt: skip
QUANTITIES = ("latency_ms", "cycles", "supply_current_ma", "energy_mj")
_OF_MODELS = ("policy", "kernels", "fidelity", "weights", "sram_budget", "code")
_OF_PROGRAMS = ("function", "arguments")
TEMPLATE = """\
# Measurements for `mcusim calibrate`: one number a line. Replace the lines below by your own; empty cells do not apply.
# quantity: latency_ms, cycles, supply_current_ma or energy_mj; value: a plain number in that unit.
# model: a .tflite in this folder, or a name of `mcusim models`. A timed function (CYCCNT) has program, function and
# arguments instead. set: what differs from the machine file while this was measured ("core.clock=200 MHz").
# Further columns where they apply: fidelity, weights and code (regions).
model,policy,kernels,program,function,arguments,quantity,value,sram_budget,set,note
ds-cnn,internal,,,,,latency_ms,28.4,,,mean of 100 inferences
ds-cnn,internal,,,,,supply_current_ma,97.0,,,
ds-cnn,external,,,,,latency_ms,37.9,,,the same network with its data in SDRAM
ds-cnn,external,,,,,supply_current_ma,121.0,,,
ds-cnn,tinyops,,,,,cycles,7150000,,,
,,,memory,read_u32,0xC0000000 262144,cycles,1090000,,memory.sdram.base=0xC000_0000,DWT->CYCCNT around the call
"""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What was run, whatever was measured of it; a ``model`` or a ``program``, paths as they are opened."""

    model: str = ""
    policy: str = ""
    kernels: str | None = None
    fidelity: str = "replay"
    weights: str | None = None
    sram_budget: str | None = None
    code: str | None = None
    program: str = ""
    function: str = ""
    arguments: tuple[str, ...] = ()
    set: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """A short name for tables: the model and its policy, or the call."""
        changes = (
            f", {len(self.set)} keys set" if len(self.set) > 1 else f", {'='.join(self.set[0])}" if self.set else ""
        )
        if self.program:
            return f"{Path(self.program).stem}: {self.function}({', '.join(self.arguments)}){changes}"
        chosen = [text for text in (self.kernels, "emulate" * (self.fidelity == "emulate"), self.weights) if text]
        return f"{Path(self.model).name} {self.policy}{''.join(f' {text}' for text in chosen)}{changes}"


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number: ``where`` is ``file:line``."""

    where: str
    experiment: Experiment
    quantity: str
    value: float


def read_measurements(path: str | Path) -> tuple[Row, ...]:
    """The rows of a CSV file, in its order; raises UsageError naming file, line, column, value and what is wrong."""
    file = Path(path)
    lines = io.StringIO(_text(file), newline=None)  # splitlines() would end lines at U+2028 and the like too
    return _rows(file.name, file.parent, _records(file.name, lines))


def _text(path: Path) -> str:
    """The file's text, a byte order mark left out."""
    data = read_guarded(
        path,
        LARGEST_FILE,
        UsageError,
        too_large="; a log has one line a measured number, not a sample",
        irregular="not a regular file; measurements are a CSV file",
    )
    return utf8_text(data, UsageError, path)


def _records(shown: str, lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Where each record ends, and its cells; a quoted cell takes the lines that it goes on in as they are."""
    rest, number = iter(lines), 0
    for line in rest:
        number += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        reader = csv.reader(chain((line,), rest), strict=True)
        try:
            cells = next(reader)
        except csv.Error as error:
            raise UsageError(f"{shown}:{number + reader.line_num - 1}: not CSV: {error}") from None
        number += reader.line_num - 1
        yield f"{shown}:{number}", cells


def _rows(shown: str, folder: Path, records: Iterable[tuple[str, list[str]]]) -> tuple[Row, ...]:
    header: list[str] | None = None
    rows: list[Row] = []
    for where, cells in records:
        if not any(cell.strip() for cell in cells):
            continue
        if header is None:
            header = _header(where, cells)
            continue
        if len(cells) != len(header):
            raise UsageError(f"{where}: has {len(cells)} cells, the header has {len(header)}")
        if len(rows) == MOST_ROWS:
            raise UsageError(f"{where}: more than {MOST_ROWS} measurements; average repeated ones")
        rows.append(_row(where, folder, dict(zip(header, (cell.strip() for cell in cells), strict=True))))
    if not rows:
        raise UsageError(f"{shown}: has no measurement; `mcusim calibrate --template` prints an example")
    return tuple(rows)


def _header(where: str, cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    for name in names:
        if name not in COLUMNS:
            near = get_close_matches(name[:80].lower(), COLUMNS, n=1)
            hint = f", did you mean {near[0]}" if near else ""
            raise UsageError(f"{where}: unknown column {quoted(name)}{hint}; columns are {', '.join(COLUMNS)}")
        if names.count(name) > 1:
            raise UsageError(f"{where}: the column {name} is there twice")
    for needed in ("quantity", "value"):
        if needed not in names:
            raise UsageError(f"{where}: the column {needed} is missing")
    if not {"model", "policy"} <= set(names) and not {"program", "function"} <= set(names):
        raise UsageError(f"{where}: the columns model and policy are missing (or program and function)")
    return names


def _row(where: str, folder: Path, cells: Mapping[str, str]) -> Row:
    model, program = cells.get("model", ""), cells.get("program", "")
    if bool(model) is bool(program):
        raise UsageError(
            f"{where}: names {'both a' if model else 'neither a'} model {'and' if model else 'nor'} a program"
        )
    for name in _OF_PROGRAMS if model else _OF_MODELS:
        if cells.get(name):
            kind = "model" if model else "program"
            raise UsageError(
                f"{where}: {name} = {quoted(cells[name])} does not apply to a {kind}: leave the cell empty"
            )
    needed = "policy" if model else "function"
    if not cells.get(needed):
        raise UsageError(f"{where}: {needed} is empty: a {'model' if model else 'program'} needs it")
    quantity = _quantity(where, cells["quantity"], bool(program))
    changes = _set(where, cells.get("set", ""))
    if program:
        ran = Experiment(
            program=_beside(folder, program),
            function=cells["function"],
            arguments=tuple(cells.get("arguments", "").split()),
            set=changes,
        )
    else:
        ran = Experiment(
            model=_beside(folder, model),
            policy=cells["policy"],
            fidelity=cells.get("fidelity") or "replay",
            set=changes,
            kernels=cells.get("kernels") or None,
            weights=cells.get("weights") or None,
            sram_budget=cells.get("sram_budget") or None,
            code=cells.get("code") or None,
        )
    return Row(where, ran, quantity, _value(where, quantity, cells["value"]))


def _beside(folder: Path, name: str) -> str:
    """The path of the file of that name in the CSV's folder, if there is one; else the name."""
    try:
        return str(folder / name) if (folder / name).is_file() else name
    except (OSError, ValueError):
        return name


def _quantity(where: str, text: str, program: bool) -> str:
    known = QUANTITIES[:2] if program else QUANTITIES
    if text not in known:
        near = get_close_matches(text[:80].lower(), known, n=1)
        hint = f", did you mean {near[0]}" if near else ""
        what = "a program has" if program else "there are"
        raise UsageError(f"{where}: quantity {quoted(text)}{hint}: {what} {', '.join(known)}, each in its own unit")
    return text


def _value(where: str, quantity: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        unit = quantity.rpartition("_")[2] if "_" in quantity else "cycles"
        raise UsageError(
            f"{where}: value = {quoted(text)}: must be a plain number, in {unit} as {quantity} says"
        ) from None
    if not math.isfinite(value) or not 1e-9 < value < 1e15:
        raise UsageError(f"{where}: value = {quoted(text)}: must be a finite number above zero")
    return value


def _set(where: str, text: str) -> tuple[tuple[str, str], ...]:
    texts: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise UsageError(f'{where}: set = {quoted(text)}: must be KEY=VALUE, several separated by ";"')
        if key.strip() in texts:
            raise UsageError(f"{where}: set: {key.strip()[:80]} is given twice")
        texts[key.strip()] = value.strip()
    return tuple(sorted(texts.items()))
