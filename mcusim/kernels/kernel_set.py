"""Kernel sets: which compiled function runs an operator, with which structure and how much scratch.

A set is a folder with a ``manifest.toml`` (the comment at the head of ``sets/reference/manifest.toml`` explains it) and
the ELF files built from its C sources, ``<name>-<core>.elf`` for each core. Not modelled: building, which
``compiler.py`` does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcusim.errors import ImageError, InputError, UnsupportedError, UsageError
from mcusim.files import read_guarded, without_mark
from mcusim.kernels.calls.structs import LAYOUTS, layout_of
from mcusim.kernels.scratch_formula import check_formula, evaluate
from mcusim.machine.cores import CORES
from mcusim.model.geometry import GROUPED, PACKED, Geometry
from mcusim.model.operators import OPERATORS
from mcusim.units import quoted

if TYPE_CHECKING:
    from mcusim.image.image import Image

FOLDER = Path(__file__).parent / "sets"
LARGEST_FILE = 1 << 20
MOST_MOVED = 32  # images at an address that are kept of a set
NAMES = (
    "batch", "in_h", "in_w", "in_c", "out_h", "out_w", "out_c", "kernel_h", "kernel_w", "stride_h", "stride_w",
    "dilation_h", "dilation_w", "pad_top", "pad_bottom", "pad_left", "pad_right", "depth_multiplier", "inputs", "item",
)  # fmt: skip
FORMULA_NAMES = (*NAMES, "filter_c")
_KEYS: Mapping[str, type] = {
    "name": str, "title": str, "sources": list, "include": list, "flags": str, "source_flags": dict, "kernels": dict,
}  # fmt: skip
_LINE = ("symbol", "layout", "scratch", "in_place", "filter_order", "quick", "direct")
FILTER_ORDERS = ("", "chw")
FILTERS, CHANNELS, SUM, PRODUCT = QUICK = "filters", "channels", "sum", "product"
_NAMED = "int8|uint8|int16|int32|uint32|int64|float32"
_TYPES = re.compile(rf"({_NAMED})(_to_({_NAMED})|({PACKED})?({GROUPED})?)")


@dataclass(frozen=True)
class Kernel:
    """One line of a manifest: the function for an operator and its types.

    ``in_place``: a formula, more than 0 where the output may begin where the input does. ``filter_order``: empty as in
    the model, ``chw`` with the channels in front. ``quick``: what decides whether outputs are rescaled by one product
    (:mod:`mcusim.kernels.calls.rescaling`), empty where all take the same way. ``direct``: formulas with functions for
    some shapes, which compiled code calls instead of ``symbol``, the first whose formula is more than 0; a third text
    has the techniques that the function rests on, with blanks between them.
    """

    operator: str
    types: str
    symbol: str
    layout: str
    scratch: str = "0"
    in_place: str = "0"
    filter_order: str = ""
    quick: str = ""
    direct: tuple[tuple[str, ...], ...] = ()

    def scratch_bytes(self, g: Geometry) -> int:
        """Bytes of scratch a call for ``g`` needs. Raises InputError when the formula gives no size."""
        return self._evaluated("scratch", self.scratch, g)

    def runs_in_place(self, g: Geometry) -> bool:
        """Whether a call for ``g`` may write over its input. Raises InputError when the formula gives no number."""
        return self._evaluated("in_place", self.in_place, g) > 0

    def called_for(self, g: Geometry) -> Kernel:
        """This kernel with the function that compiled code calls for ``g``."""
        symbol = next((line[1] for line in self.direct if self._evaluated("direct", line[0], g) > 0), None)
        return self if symbol is None else replace(self, symbol=symbol)

    def without(self, techniques: Collection[str]) -> Kernel:
        """This kernel without the functions that rest on any of ``techniques``."""
        kept = tuple(line for line in self.direct if not set(techniques) & set("".join(line[2:]).split()))
        return replace(self, direct=kept)

    def _evaluated(self, key: str, formula: str, g: Geometry) -> int:
        try:
            return evaluate(formula, {name: getattr(g, name) for name in FORMULA_NAMES})
        except InputError as error:
            raise InputError(f"{key} of {self.symbol} for {g}: {error}") from None


@dataclass(frozen=True)
class KernelSet:
    """``kernels`` is by operator and types (``int8``, ``int8_to_float32``); ``manifest`` is the file it came from."""

    name: str
    title: str
    manifest: Path
    sources: tuple[str, ...]
    include: tuple[str, ...]
    flags: str
    kernels: Mapping[tuple[str, str], Kernel] = field(repr=False)
    source_flags: Mapping[str, str] = field(default_factory=dict)  # further ones of some sources

    def kernel(self, operator: str, types: str = "int8") -> Kernel:
        """The kernel for an operator. Raises UnsupportedError, with the types there are, when the set has none."""
        kernel = self.kernels.get((operator, types))
        if kernel is None:
            have = ", ".join(t for o, t in self.kernels if o == operator)
            known = f"; it has {have}" if have else "; kernels cmsis and reference have it"
            raise UnsupportedError(f"kernel set {self.name!r} has no {operator} for {types}{known}")
        return kernel

    def without(self, techniques: Collection[str]) -> KernelSet:
        """This set without the functions that rest on any of ``techniques``; itself where there are none."""
        kernels = {key: kernel.without(techniques) for key, kernel in self.kernels.items()}
        return self if kernels == self.kernels else replace(self, kernels=kernels)

    def elf(self, isa: str) -> Path:
        """The set's program for a core. Raises UsageError for an unknown core, InputError when it is not built."""
        if isa not in CORES:
            raise UsageError(f"core {isa!r}: kernel sets are built for {' and '.join(CORES)}")
        path = self.manifest.parent / f"{self.name}-{isa}.elf"
        if not path.is_file():
            raise InputError(
                f"kernel set {self.name!r}: {path} is missing; build it with `mcusim kernels build {self.manifest}"
                " --out DIR`"
            )
        return path

    @cached_property
    def _images(self) -> dict[str, Image]:
        return {}

    def image(self, isa: str) -> Image:
        """The loaded program for a core, every symbol of the manifest in it. Raises InputError naming what is not."""
        if isa not in self._images:
            from mcusim.image.image import load_image

            image = load_image(self.elf(isa))
            _require_code_only(image)
            for kernel in self.kernels.values():
                _require(self.manifest, kernel, image)
            self._images[isa] = image
        return self._images[isa]

    @cached_property
    def _moved(self) -> dict[tuple[str, int, frozenset[str] | None], Image]:
        return {}

    def image_at(self, isa: str, address: int, symbols: Collection[str] | None = None) -> Image:
        """:meth:`image` put at ``address``, a multiple of 64 B; segments, symbols and lines are those it has there.

        With ``symbols``, only those functions and what they call or read, packed, where the ELF has relocations.
        Raises as :meth:`image`, UsageError for no symbols, and InputError when the address is none for it or the ELF
        cannot be moved or taken apart, which one linked as ``compiler.py`` does can.
        """
        key = isa, address, None if symbols is None else frozenset(symbols)
        if key not in self._moved:
            from mcusim.kernels.link.place import move
            from mcusim.kernels.link.relocations import tables
            from mcusim.kernels.link.trim import trim

            image = self.image(isa)
            whole = symbols is None or not tables(image)
            if len(self._moved) >= MOST_MOVED:
                del self._moved[next(iter(self._moved))]
            self._moved[key] = move(image, address) if whole else trim(image, address, symbols or ())
        return self._moved[key]

    def loaded_bytes(self, isa: str, symbols: Collection[str] | None = None) -> int:
        """Bytes of code and constants, from the address of :meth:`image_at` on. Raises as it does."""
        from mcusim.kernels.link.place import span
        from mcusim.kernels.link.relocations import tables
        from mcusim.kernels.link.trim import trimmed_bytes

        image = self.image(isa)
        return span(image) if symbols is None or not tables(image) else trimmed_bytes(image, symbols)

    def address(self, isa: str, kernel: Kernel) -> int:
        """Where the kernel's function begins (Thumb bit not set). Raises as :meth:`image`."""
        return self.image(isa).symbol(kernel.symbol).address

    def code_bytes(self, isa: str, kernel: Kernel) -> int:
        """Bytes of the function itself, without what it calls. Raises as :meth:`image`."""
        return self.image(isa).symbol(kernel.symbol).size


def _require_code_only(image: Image) -> None:
    for segment in image.segments:
        if segment.memory_size > len(segment.data) or segment.load_address != segment.address:
            raise InputError(
                f"{image.path}: {segment} holds variables (.data or .bss): a kernel set has none of its own"
            )


def _require(manifest: Path, kernel: Kernel, image: Image) -> None:
    for key, name in (("symbol", kernel.symbol), *(("direct", line[1]) for line in kernel.direct)):
        where = f"{manifest}: kernels.{kernel.operator}.{kernel.types}.{key} = {quoted(name)}"
        try:
            symbol = image.symbol(name)
        except ImageError as error:
            raise InputError(f"{where}: {error}") from None
        if symbol.kind == "object" or not symbol.thumb:
            raise InputError(f"{where}: in {image.path} it is not a Thumb function")


def set_names() -> list[str]:
    """Names of the sets that ship with mcusim."""
    return sorted(path.parent.name for path in FOLDER.glob("*/manifest.toml"))


def load_set(name_or_path: str | Path) -> KernelSet:
    """The kernel set of that name, or the one in a folder or manifest file named by its path.

    Raises UsageError for a name that is neither; InputError naming file, key, value and rule for a manifest that
    breaks one. The ELF files are not opened yet.
    """
    text = str(name_or_path)
    if text in set_names():
        return _shipped(text)
    path = Path(name_or_path)
    if "\0" not in text and len(text) < 4000 and path.exists():
        return _read(path / "manifest.toml" if path.is_dir() else path)
    near = get_close_matches(text[:80], set_names(), n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise UsageError(
        f"no kernel set {quoted(text)}: {hint}there are {', '.join(set_names())}; the path of a folder with a"
        " manifest.toml works too"
    )


@cache
def _shipped(name: str) -> KernelSet:
    """The set that ships under that name, read once."""
    return _read(FOLDER / name / "manifest.toml")


def _read(path: Path) -> KernelSet:
    data = read_guarded(path, LARGEST_FILE, InputError, too_large=", the most a manifest may have")
    try:
        raw = tomllib.loads(without_mark(data).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    return _checked(path, raw)


def _checked(path: Path, raw: Mapping[str, Any]) -> KernelSet:
    _keys(path, "", raw, tuple(_KEYS), ("name", "sources", "kernels"))
    for key, kind in _KEYS.items():
        if key in raw and not isinstance(raw[key], kind):
            raise _wrong(path, key, raw[key], f"must be {_A[kind]}")
    for key in ("sources", "include"):
        bad = [value for value in raw.get(key, []) if not isinstance(value, str)]
        if bad:
            raise _wrong(path, key, bad[0], "must be a list of texts")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", raw["name"]):
        raise _wrong(path, "name", raw["name"], "must be 1 to 64 letters, digits, '-', '_' and '.'")
    kernels: dict[tuple[str, str], Kernel] = {}
    for operator, lines in raw["kernels"].items():
        for kernel in _operator(path, operator, lines):
            kernels[operator, kernel.types] = kernel
    if not kernels:
        raise InputError(f"{path}: kernels: names no operator")
    places = tuple(raw["sources"]), tuple(raw.get("include", ()))
    own = raw.get("source_flags", {})
    for source, flags in own.items():
        if source not in raw["sources"] or not isinstance(flags, str):
            raise _wrong(path, f"source_flags.{source[:80]}", flags, "must be a text, of one of the sources")
    return KernelSet(raw["name"], raw.get("title", ""), path, *places, raw.get("flags", ""), kernels, own)


_A: Mapping[type, str] = {str: "a text", list: "a list of texts", dict: "a table"}


def _operator(path: Path, operator: str, lines: object) -> list[Kernel]:
    key = f"kernels.{operator[:80]}"
    if operator not in OPERATORS:
        near = get_close_matches(operator[:80], OPERATORS, n=1)
        raise InputError(f"{path}: {key}: is not an operator{f'; did you mean {near[0]}?' if near else ''}")
    if not isinstance(lines, dict):
        raise _wrong(path, key, lines, "must be a table")
    kernels = []
    for types, line in lines.items():
        at = f"{key}.{types[:80]}"
        if not _TYPES.fullmatch(types):
            raise InputError(
                f"{path}: {at}: types are {_NAMED.replace('|', ', ')}, two of them as in int8_to_float32, or {PACKED}"
                f" and {GROUPED} behind one"
            )
        if not isinstance(line, dict):
            raise _wrong(path, at, line, 'must be a table such as { symbol = "...", layout = "..." }')
        kernels.append(_line(path, at, operator, types, line))
    return kernels


def _line(path: Path, at: str, operator: str, types: str, line: Mapping[str, Any]) -> Kernel:
    _keys(path, at, line, _LINE, ("symbol", "layout"))
    direct = _direct(path, f"{at}.direct", line.get("direct", []))
    texts = {key: value for key, value in line.items() if key != "direct"}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise _wrong(path, f"{at}.{key}", value, "must be a text")
    if line["layout"] not in LAYOUTS:
        raise _wrong(path, f"{at}.layout", line["layout"], f"layouts are {', '.join(LAYOUTS)}")
    if line["layout"] != layout_of(operator):
        raise _wrong(path, f"{at}.layout", line["layout"], f"{operator} is called with a {layout_of(operator)}")
    _symbol(path, f"{at}.symbol", line["symbol"])
    for key in ("scratch", "in_place"):
        _formula(path, f"{at}.{key}", line.get(key, "0"))
    if line.get("filter_order", "") not in FILTER_ORDERS:
        raise _wrong(path, f"{at}.filter_order", line["filter_order"], 'must be "chw", or left out')
    if line.get("quick", QUICK[0]) not in QUICK:
        raise _wrong(path, f"{at}.quick", line["quick"], f"must be {', '.join(QUICK)}, or left out")
    return Kernel(operator, types, **texts, direct=direct)


def _direct(path: Path, at: str, value: object) -> tuple[tuple[str, ...], ...]:
    lines: list[Any] = value if isinstance(value, list) else [value]
    for line in lines:
        if not (isinstance(line, list) and len(line) in (2, 3) and all(isinstance(part, str) for part in line)):
            rule = 'must be a list of ["formula", "symbol"] or ["formula", "symbol", "techniques"]'
            raise _wrong(path, at, value, rule)
        _formula(path, at, line[0])
        _symbol(path, at, line[1])
    return tuple(tuple(line) for line in lines)


def _symbol(path: Path, at: str, name: str) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,254}", name):
        raise _wrong(path, at, name, "must be a C name")


def _formula(path: Path, at: str, formula: str) -> None:
    try:
        check_formula(formula, FORMULA_NAMES)
    except InputError as error:
        raise _wrong(path, at, formula, str(error)) from None


def _keys(path: Path, at: str, table: Mapping[str, Any], known: tuple[str, ...], needed: tuple[str, ...]) -> None:
    prefix = f"{at}." if at else ""
    for key in table:
        if key not in known:
            raise InputError(f"{path}: {prefix}{key[:80]}: unknown key; known: {', '.join(known)}")
    for key in needed:
        if key not in table:
            raise InputError(f"{path}: {prefix}{key}: is missing")


def _wrong(path: Path, key: str, value: object, rule: str) -> InputError:
    shown = "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else quoted(value)
    return InputError(f"{path}: {key} = {shown}: {rule}")
