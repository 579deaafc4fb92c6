"""Templates of kernels: C, or a Python function that writes C, and the space of its configurations.

A folder with ``template.toml``; the comment at the head of ``templates/conv2d-direct/template.toml`` explains it. The
function is one of a kernel set: it is called with the address of the operator's structure of ``kernels.h`` in r0 and
returns 0. Shapes and knobs are macros: ``IN_W``, ``TILE_CO``; of a knob with texts its place, and one more for its
value, ``ORDER_y_x_c``.

Not modelled: operators other than convolutions and FULLY_CONNECTED, templates for several operators at once.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcusim.errors import InputError, UsageError
from mcusim.files import read_guarded, utf8_text
from mcusim.kernels.compiler import SETS
from mcusim.kernels.kernel_set import NAMES
from mcusim.kernels.scratch_formula import check_formula, evaluate
from mcusim.machine.toml_file import read_toml
from mcusim.model.geometry import Geometry
from mcusim.model.operators import OPERATORS
from mcusim.tuning.config_space import Config, ConfigSpace, Knob, KnobValue, divisors, orders
from mcusim.units import quoted
from mcusim.user_code import reasons
from mcusim.validation_errors import rule_of

FOLDER = Path(__file__).parent / "templates"
INCLUDE = FOLDER / "include"
LARGEST_SOURCE = 1 << 20
MOST_VALUES, MOST_AXES = 1000, 6
MEMORIES = ("tcm", "sram", "sdram", "flash")
OPERANDS = ("input", "filter", "output", "scratch")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
Value = Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)] | Annotated[str, Field(max_length=200)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _KnobTable(_Strict):
    """One knob as it is written."""

    kind: Literal["split", "order", "unroll", "width", "choice", "placement", "flags"]
    values: list[Value] = Field(default=[], max_length=MOST_VALUES)
    of: str = ""
    most: int = Field(default=16, ge=1, le=1024)
    axes: list[str] = Field(default=[], max_length=MOST_AXES)
    operand: Literal["", "input", "filter", "output", "scratch"] = ""
    default: Value | None = None


class _TemplateTable(_Strict):
    """A template as it is written."""

    title: str = Field(max_length=200)
    operator: str
    symbol: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")
    source: str = ""
    python: str = ""
    flags: str = Field(default="", max_length=2000)
    include: list[str] = []
    applies: list[str] = Field(default=[], max_length=50)
    rules: list[str] = Field(default=[], max_length=50)
    scratch: str = "0"
    tiles: bool = False
    nest: dict[Literal["instructions", "input", "filter", "scratch"], str] = {}
    knobs: dict[str, _KnobTable] = Field(max_length=64)


@dataclass(frozen=True)
class KernelTemplate:
    """``folder`` has its files, ``table`` what template.toml says."""

    name: str
    folder: Path
    shown: str
    table: _TemplateTable
    lines: Mapping[str, int] = field(repr=False)

    @property
    def files(self) -> list[Path]:
        """What the template is made of, headers of its own folder included."""
        named = [self.folder / "template.toml", self.folder / (self.table.source or self.table.python)]
        return sorted({*named, *self.folder.glob("*.h"), *INCLUDE.glob("*.h")})

    @property
    def operator(self) -> str:
        """The operator that it computes."""
        return self.table.operator

    @property
    def symbol(self) -> str:
        """Its function."""
        return self.table.symbol

    def applies(self, g: Geometry) -> str | None:
        """None where it computes ``g``, or the formula that says no."""
        if g.type != self.operator or g.types != "int8":
            return f"{self.operator} of int8"
        values = {name: int(getattr(g, name)) for name in NAMES}
        return next((rule for rule in self.table.applies if not self._number("applies", rule, values)), None)

    def space(self, g: Geometry) -> ConfigSpace:
        """The configurations for a layer. Raises InputError, with the place, for a formula without a value."""
        names = {name: int(getattr(g, name)) for name in NAMES}
        knobs = tuple(self._knob(name, table, names) for name, table in self.table.knobs.items())
        space = ConfigSpace(knobs, tuple(self.table.rules), names)
        if space.size >= 1 << 62:
            raise InputError(f"{self.shown}: knobs: over 2^62 combinations; a tuner has numbers for fewer")
        try:
            space.default  # noqa: B018  # raises
        except InputError as error:
            raise InputError(f"{self.shown}: {error}") from None
        return space

    def _knob(self, name: str, table: _KnobTable, names: Mapping[str, int]) -> Knob:
        values: tuple[KnobValue, ...]
        if table.kind == "split":
            values = divisors(self._number(f"knobs.{name}.of", table.of, names), table.most)
        elif table.kind == "order" and not table.values:
            values = orders(table.axes)
        else:
            values = tuple(table.values)
        if not values:
            raise self._wrong(f"knobs.{name}", "has no values for this layer")
        return Knob(name, table.kind, values, self._default(name, table, values))

    def _default(self, name: str, table: _KnobTable, values: tuple[KnobValue, ...]) -> KnobValue:
        default = values[0] if table.default is None else table.default
        if default not in values:
            if table.kind == "split":
                return values[0]
            raise self._wrong(f"knobs.{name}.default", f"is none of its values, {', '.join(map(str, values))[:200]}")
        return default

    def _number(self, key: str, formula: str, values: Mapping[str, int]) -> int:
        try:
            return evaluate(formula, values)
        except InputError as error:
            raise self._wrong(key, str(error)) from None

    def _wrong(self, key: str, rule: str) -> InputError:
        line = self.lines.get(key) or self.lines.get(key.rpartition(".")[0])
        return InputError(f"{self.shown}{f':{line}' if line else ''}: {key}: {rule}")

    def scratch_bytes(self, g: Geometry, space: ConfigSpace, config: Config) -> int:
        """Bytes of scratch that a configuration needs."""
        return self._number("scratch", self.table.scratch, {**space.names, **space.numbers(config)})

    def nest(self, space: ConfigSpace, config: Config) -> dict[str, int]:
        """What its loops do: instructions, bytes read of operands; what the template does not say is not here."""
        values = {**space.names, **space.numbers(config)}
        return {name: self._number(f"nest.{name}", formula, values) for name, formula in self.table.nest.items()}

    def texts(self, knob: str) -> tuple[KnobValue, ...]:
        """The values of a knob whose values have no order; empty for numbers."""
        table = self.table.knobs[knob]
        values = orders(table.axes) if table.kind == "order" and not table.values else tuple(table.values)
        return values if any(isinstance(value, str) for value in values) else ()

    def places(self, config: Config) -> dict[str, str]:
        """By operand, where a configuration wants it: a kind of memory; what it leaves or copies itself is not here."""
        wanted = {
            table.operand: str(config[name]) for name, table in self.table.knobs.items() if table.kind == "placement"
        }
        return {operand: location for operand, location in wanted.items() if location in MEMORIES}

    def all_flags(self, config: Config) -> str:
        """The compiler's, besides those of every build."""
        chosen = [str(config[name]) for name, table in self.table.knobs.items() if table.kind == "flags"]
        return " ".join(["-O2", self.table.flags, *chosen])

    @property
    def include(self) -> list[Path]:
        """Folders with headers."""
        return [INCLUDE, SETS / "include", *((self.folder / location).resolve() for location in self.table.include)]

    def macros(self, g: Geometry, space: ConfigSpace, config: Config) -> dict[str, int]:
        """What the source sees, by name."""
        macros = {name.upper(): int(getattr(g, name)) for name in NAMES}
        for knob in space.knobs:
            value = config[knob.name]
            macros[knob.name.upper()] = knob.number(value)
            if isinstance(value, str) and knob.kind != "flags":
                macros[f"{knob.name.upper()}_{re.sub('[^A-Za-z0-9]', '_', value)}"] = 1
        return macros

    def source(self, g: Geometry, space: ConfigSpace, config: Config) -> str:
        """The C of a configuration. Raises InputError where the template's Python does."""
        head = "".join(f"#define {name} {value}\n" for name, value in self.macros(g, space, config).items())
        return head + (self._by_python(g, config) if self.table.python else self._text)

    @cached_property
    def _text(self) -> str:
        path = self.folder / self.table.source
        return utf8_text(
            read_guarded(path, LARGEST_SOURCE, InputError, too_large=", the most a source may have"), InputError, path
        )

    def _by_python(self, g: Geometry, config: Config) -> str:
        path, function = self.folder / self.table.python, self._function
        with reasons(f"{path}: source()", InputError, own=(InputError,)):
            text = function(dict(config), {name: int(getattr(g, name)) for name in NAMES})
        if type(text) is not str or len(text) > LARGEST_SOURCE:
            raise InputError(f"{path}: source() must return C as a text of up to 1 MiB, not {type(text).__name__}")
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InputError(f"{path}: source() returns a text with half of a surrogate pair, which no file can have")
        return text

    @cached_property
    def _function(self) -> Any:
        path = self.folder / self.table.python
        with reasons(str(path), InputError):
            function = runpy.run_path(str(path)).get("source")
        if not callable(function):
            raise InputError(f"{path}: must define source(config, shape), which returns C")
        return function


def template_names() -> list[str]:
    """Those that ship."""
    return sorted(path.parent.name for path in FOLDER.glob("*/template.toml"))


def open_template(name: str | Path) -> KernelTemplate:
    """A template that ships, by its name, or one in a folder, by its path.

    Raises UsageError for neither, InputError with file, line, key and rule for one that breaks a rule, all at once.
    """
    text = str(name)
    if text in template_names():
        return _read(text, FOLDER / text, f"{text}/template.toml")
    path = Path(text)
    if "\0" not in text and len(text) < 4000 and (path / "template.toml").is_file():
        return _read(path.resolve().name, path, str(path / "template.toml"))
    near = get_close_matches(text[:80], template_names(), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(
        f"no template {quoted(text)}: {hint}there are {', '.join(template_names())}; a folder with a"
        " template.toml works too"
    )


def _read(name: str, folder: Path, shown: str) -> KernelTemplate:
    raw, lines = read_toml(folder / "template.toml", shown, "template", InputError)
    try:
        table = _TemplateTable.model_validate(raw)
    except ValidationError as error:
        wrong = [_place(shown, lines, error) for error in error.errors()]
        raise InputError.of_lines(f"{shown} is not a template", wrong[:30]) from None
    template = KernelTemplate(name, folder, shown, table, lines)
    wrong = list(_broken(template))
    if wrong:
        raise InputError.of_lines(f"{shown} is not a template", wrong[:30])
    return template


def _place(shown: str, lines: Mapping[str, int], error: Any) -> str:
    key = ".".join(str(part) for part in error["loc"] if part not in ("int", "str"))
    line = next((lines[k] for k in (key, key.rpartition(".")[0]) if k in lines), None)
    return f"{shown}{f':{line}' if line else ''}: {key or 'the file'}: {rule_of(error)}"


def _broken(template: KernelTemplate) -> list[str]:
    """What no schema says: formulas, names, files."""
    table, broken = template.table, []

    def wrong(key: str, rule: str) -> None:
        broken.append(str(template._wrong(key, rule)))

    def formula(key: str, text: str, names: tuple[str, ...]) -> None:
        try:
            check_formula(text, names)
        except InputError as error:
            wrong(key, str(error))

    if bool(table.source) == bool(table.python):
        wrong("source", "one of source (a C file) and python (a file with source(config, shape)) is needed")
    elif not (template.folder / (table.source or table.python)).is_file():
        wrong("source" if table.source else "python", f"there is no file {table.source or table.python}")
    for name, knob in table.knobs.items():
        key = f"knobs.{name}"
        if not _NAME.fullmatch(name) or name in NAMES:
            wrong(key, "a name is like tile_co: small letters, digits and _, and no name of a shape")
        if knob.kind == "split":
            formula(f"{key}.of", knob.of, NAMES)
        if len({*knob.values}) != len(knob.values):
            wrong(f"{key}.values", "has a value twice")
        if knob.kind == "placement" and not knob.operand:
            wrong(f"{key}.operand", f"a placement is of an operand: {', '.join(OPERANDS)}")
    if table.operator not in OPERATORS or not OPERATORS[table.operator].traits.parametric:
        able = (name for name, spec in OPERATORS.items() if spec.traits.parametric)
        wrong("operator", f"{quoted(table.operator)} has no filter; templates are for {', '.join(able)}")
    knobs = tuple(table.knobs)
    for i, rule in enumerate(table.applies):
        formula(f"applies.{i}", rule, NAMES)
    for i, rule in enumerate(table.rules):
        formula(f"rules.{i}", rule, (*NAMES, *knobs))
    formula("scratch", table.scratch, (*NAMES, *knobs))
    for name, text in table.nest.items():
        formula(f"nest.{name}", text, (*NAMES, *knobs))
    return broken
