"""Kernel cost profiles: the cycles of each loop level of a kernel set, as data under the set's name.

A profile is ``profiles/<name>.toml`` in this folder, or a user's own file by path. Cycles are those of an ideal
memory (no wait states); what loads and stores cost is decided by the machine. Not modelled: data-dependent time
(early-terminating divisions, saturation branches).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from mcusim.errors import UsageError
from mcusim.files import read_guarded, without_mark
from mcusim.kernels.cost.counted.variants import VARIANTS, is_counted, scratch_bytes
from mcusim.kernels.cost.fitted.families import FamilyCosts, read_families
from mcusim.kernels.cost.fitted.fitted_shapes import Ranges
from mcusim.kernels.cost.fitted.kinds import KINDS
from mcusim.kernels.cost.profile_fields import BASES, number, one_of, shape_errors, shape_ranges, table_of, text_of
from mcusim.kernels.kernel_set import KernelSet, load_set, set_names
from mcusim.machine.cores import CORES
from mcusim.model.geometry import Geometry

FOLDER = Path(__file__).parent / "profiles"
LARGEST_FILE = 1 << 20
LEVELS: Mapping[str, tuple[str, ...]] = {
    "pointwise": ("block", "rest", "sum", "output"),
    "conv": ("block", "rest", "tap", "element", "element_rest", "zero", "output"),
    "depthwise": ("mac", "tap", "element", "zero", "output"),
    "depthwise_3x3": ("mac", "output"),
    "depthwise_basic": ("mac", "output"),
    "fully_connected": ("mac", "output"),
    "add": ("element",),
    "pool": ("tap", "output"),
    "elementwise": ("element",),
    "lookup": ("element",),
    "copy": ("element",),
    "pad": ("element", "zero", "pixel"),
}
_TABLE = re.compile(r"(?m)^(?=\[)")
_FITTED = re.compile(r"\[([\w-]+)\.([\w-]+)\]")  # core and kind
TECHNIQUES = ("cmsis", "reference")


class LevelCost(NamedTuple):
    """What a loop level costs each time it runs: cycles, cycles waited for code in the flash of the board, words read
    of the call structure (offset, how often).

    ``away``: cycles, words of code read, and those of them that do not follow the last, where no cache is for the
    code and it comes over the system bus; all 0: not known.
    """

    cycles: float
    waits: float
    words: tuple[tuple[int, float], ...]
    away: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class FittedCosts:
    """One kind of kernel call (:mod:`mcusim.kernels.cost.fitted.kinds`) as it was fitted to ``runs`` emulated ones.

    ``code``: what is executed, offset from the start of the set's code and bytes. ``median`` and ``worst``: error of
    the cycles in percent. ``shapes``: those that the runs had.
    """

    levels: Mapping[str, LevelCost]
    code: tuple[tuple[int, int], ...]
    runs: int
    median: float
    worst: float
    shapes: Ranges = field(default_factory=dict)


@dataclass(frozen=True)
class CoreCosts:
    """Milli-cycles per loop level and variant for one core; ``operator`` cycles of interpreter per invocation.

    ``fitted``, by kind, replaces them in a profile that was measured on a compiled set; with ``families`` its levels
    say how cycles are spread over a call, and the families how many there are. ``outside``: root mean square of
    ln(emulated / replayed) over calls of other shapes than were fitted, by group of shapes.
    """

    operator: int
    bytes_per_cycle: float
    levels: Mapping[str, Mapping[str, int]]
    basis: Mapping[str, tuple[str, str]]  # variant -> (basis, source)
    fitted: Mapping[str, FittedCosts] = field(default_factory=dict, repr=False)
    wait_states: float = 0.0  # of the flash that ``fitted`` waited for
    outside: Mapping[str, float] = field(default_factory=dict)
    away: tuple[float, float, float] = (1.0, 0.0, 0.0)  # of a counted profile, by cycle: as that of a LevelCost
    families: Mapping[str, FamilyCosts] = field(default_factory=dict)


@dataclass(frozen=True)
class Profile:
    """``set`` is the compiled kernel set that the costs were measured on, if any; ``technique`` how its loops go.

    ``rest`` names the profile of a compiled set that has the costs of the operators that this one was not counted for:
    ``uncounted`` variants, and all that are not int8. ``accesses`` names the one of a set that reads and writes as the
    code is taken to that this profile has the cycles of, by family: that code is not here to be emulated.
    """

    name: str
    title: str
    per_channel_bytes: int
    node_bytes: int
    code: Mapping[str, int] = field(hash=False)
    code_basis: tuple[str, str]
    cores: Mapping[str, CoreCosts] = field(repr=False, hash=False)
    set: str | None = None
    technique: str = "cmsis"
    rest: str | None = None
    uncounted: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    accesses: str | None = None

    @cached_property
    def compiled(self) -> KernelSet | None:
        """The set named ``set``, or that of ``accesses``, read once, without what is ``left_out``. Raises InputError
        when it cannot be."""
        known = _shipped(self.accesses).set if self.accesses else self.set
        return None if known is None else load_set(known).without(self.left_out)

    def without(self, techniques: Collection[str]) -> Profile:
        """This profile, of functions that rest on none of ``techniques``."""
        return replace(self, left_out=frozenset(techniques)) if techniques else self

    def of_call(self, g: Geometry) -> Profile:
        """The profile that has the cost of an operator: this one, or ``rest`` for what it was not counted for."""
        if self.rest is None or is_counted(g, self.uncounted):
            return self
        return _shipped(self.rest)

    def compiled_like(self, g: Geometry) -> Profile:
        """The profile of a compiled set that does an operator's accesses as this one would: itself or ``rest``, else
        the one that was fitted to the set named by ``technique``."""
        owner = self.of_call(g)
        if owner.compiled is not None:
            return owner
        return _fitted_to(owner.technique)

    @property
    def code_bytes(self) -> int:
        """Bytes from the start of this profile's own code to that of ``rest``: its functions, each on a line of 64."""
        return sum(-(-size // 64) * 64 for size in self.code.values())

    def scratch_bytes(self, g: Geometry) -> int:
        """Scratch the kernel for ``g`` needs, in bytes."""
        owner = self.of_call(g)
        if owner is not self:
            return owner.scratch_bytes(g)
        if self.compiled is None:
            return scratch_bytes(g)
        kernel = self.compiled.kernels.get((g.type, g.types))
        return kernel.scratch_bytes(g) if kernel else 0

    def core(self, isa: str) -> CoreCosts:
        """Costs for a core; UsageError if the profile has none for it."""
        if isa not in self.cores:
            raise UsageError(f"kernel profile {self.name!r} has no costs for {isa}; it has: {', '.join(self.cores)}")
        return self.cores[isa]


def profile_names() -> list[str]:
    """Names of the shipped profiles."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _fitted_names() -> list[str]:
    """Shipped profiles that were fitted to a compiled set: each is named after its set."""
    return [name for name in profile_names() if name.startswith(tuple(f"{known}-gcc" for known in set_names()))]


@cache
def _fitted_to(name: str) -> Profile:
    """The profile that was fitted to the set of that name as Debian's compiler builds it."""
    return _shipped(next(known for known in _fitted_names() if known.startswith(f"{name}-gcc")))


def load_profile(name: str = "cmsis-2021-gcc9") -> Profile:
    """A shipped profile by name, or one read from a path that ends in ``.toml``: a regular file of at most 1 MiB.

    Raises UsageError.
    """
    if not name.endswith(".toml") and name not in profile_names():
        near = get_close_matches(name[:80], profile_names(), n=1)
        hint = f"did you mean {near[0]!r}? known" if near else "known"
        known = ", ".join(profile_names())
        raise UsageError(f"no kernel profile named {name!r}; {hint}: {known}; the path of a .toml file works too")
    if not name.endswith(".toml"):
        return _shipped(name)
    return _parsed(name, _read(Path(name)))  # which somebody may edit between two runs


@cache
def _shipped(name: str) -> Profile:
    """Its fitted tables, most of the file, are each read when they are asked for."""
    path = FOLDER / f"{name}.toml"
    rest, fitted = [], {}
    for text in _TABLE.split(_read(path)):
        heading = _FITTED.match(text)
        if heading and heading[2] in KINDS:
            fitted[heading[1], heading[2]] = text
        else:
            rest.append(text)
    return _profile(str(path), tomllib.loads("".join(rest)), fitted)


class _FittedTables(Mapping[str, FittedCosts]):
    """A core's costs by kind, each read from its text when it is asked for."""

    def __init__(self, where: str, isa: str, texts: Mapping[tuple[str, str], str]) -> None:
        self._where, self._isa = where, isa
        self._texts = {kind: text for (core, kind), text in texts.items() if core == isa}
        self._costs: dict[str, FittedCosts] = {}

    def __getitem__(self, kind: str) -> FittedCosts:
        if kind not in self._costs:
            table = tomllib.loads(self._texts[kind])[self._isa][kind]
            self._costs[kind] = _fitted(self._where, f"{self._isa}.{kind}", kind, table)
        return self._costs[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


@lru_cache(maxsize=16)
def _parsed(where: str, text: str) -> Profile:
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(where, error) from None
    return _profile(where, data, {})


def _unreadable(where: str, error: Exception) -> UsageError:
    reason = getattr(error, "strerror", None) or error
    return UsageError(f"kernel profile {where}: cannot be read: {reason}")


def _read(path: Path) -> str:
    """The file's text."""
    data = read_guarded(
        path,
        LARGEST_FILE,
        UsageError,
        shown=f"kernel profile {path}",
        too_large=", the most a kernel profile may have",
    )
    try:
        return without_mark(data).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _unreadable(str(path), error) from None


def _profile(where: str, data: Mapping[str, Any], fitted: Mapping[tuple[str, str], str]) -> Profile:
    """``fitted``: texts of tables that are not in ``data``, by core and kind."""
    known = {"name", "title", "set", "technique", "rest", "accesses", "memory", "code", *CORES}
    for key in data:
        if key not in known:
            raise UsageError(f"kernel profile {where}: unknown key {key!r}; known: {', '.join(sorted(known))}")
    if "accesses" in data:
        return _of_families(where, data)
    memory, code = table_of(where, data, "memory"), table_of(where, data, "code")
    measured = one_of(where, data, "set", set_names(), None)
    rest, uncounted = _rest(where, data)
    own = tuple(kind for kind in VARIANTS if kind not in uncounted) if measured is None else ()
    return Profile(
        name=str(data.get("name", Path(where).stem)),
        title=str(data.get("title", "")),
        per_channel_bytes=int(number(where, "memory.per_channel", memory.get("per_channel"))),
        node_bytes=int(number(where, "memory.per_node", memory.get("per_node"))),
        code={v: int(number(where, f"code.{v}", code.get(v))) for v in (VARIANTS if measured is None else ())},
        code_basis=(str(code.get("basis", "assumed")), str(code.get("source", ""))),
        cores={isa: _core((where, isa), table_of(where, data, isa), own, fitted) for isa in CORES if isa in data},
        set=measured,
        technique=one_of(where, data, "technique", TECHNIQUES, "cmsis"),
        rest=rest,
        uncounted=frozenset(uncounted),
    )


def _of_families(where: str, data: Mapping[str, Any]) -> Profile:
    """A profile with the accesses of a fitted one and cycles of its own."""
    senseless = set(data) & {"set", "technique", "rest", "memory", "code"}
    if senseless:
        raise UsageError(f"kernel profile {where}: {min(senseless)} has no effect where accesses names a profile")
    base = _shipped(one_of(where, data, "accesses", _fitted_names(), None))
    cores = {
        isa: _core_of_families(where, isa, table_of(where, data, isa), costs)
        for isa, costs in base.cores.items()
        if isa in data
    }
    if not cores:
        raise UsageError(f"kernel profile {where}: no costs of a core: a table of one of {', '.join(base.cores)}")
    name = text_of(where, "name", data.get("name", Path(where).stem))
    title = text_of(where, "title", data.get("title"))
    return replace(base, name=name, title=title, cores=cores, set=None, accesses=base.name)


def _core_of_families(where: str, isa: str, table: Mapping[str, Any], base: CoreCosts) -> CoreCosts:
    unknown = set(table) - {"basis", "source", "families", "outside"}
    if unknown:
        raise UsageError(f"kernel profile {where}: unknown key {isa}.{min(unknown)}")
    stated = (
        text_of(where, f"{isa}.basis", table.get("basis"), BASES),
        text_of(where, f"{isa}.source", table.get("source")),
    )
    families = read_families(where, f"{isa}.families", table_of(where, table, "families", isa))
    outside = shape_errors(where, f"{isa}.outside", table.get("outside", {}))
    return replace(base, basis={**base.basis, **dict.fromkeys(base.fitted, stated)}, families=families, outside=outside)


def _rest(where: str, data: Mapping[str, Any]) -> tuple[str | None, Sequence[str]]:
    """The profile that has what this one was not counted for, and the variants that it was not counted for."""
    if "rest" not in data:
        return None, ()
    table = table_of(where, data, "rest")
    unknown = set(table) - {"profile", "variants"}
    if unknown:
        raise UsageError(f"kernel profile {where}: unknown key rest.{min(unknown)}; known: profile, variants")
    named = one_of(where, table, "profile", _fitted_names(), None)
    variants = table.get("variants", [])
    if named is None or not isinstance(variants, list) or not set(map(str, variants)) <= set(VARIANTS):
        raise UsageError(
            f"kernel profile {where}: [rest] needs a profile, one of {', '.join(_fitted_names())}, and may list"
            f" variants, some of {', '.join(VARIANTS)}"
        )
    return named, variants


def _core(
    named: tuple[str, str], table: Mapping[str, Any], variants: Sequence[str], texts: Mapping[tuple[str, str], str]
) -> CoreCosts:
    where, isa = named
    default = (str(table.get("basis", "assumed")), str(table.get("source", "")))
    levels: dict[str, dict[str, int]] = {}
    basis: dict[str, tuple[str, str]] = {}
    for kind in variants:
        rows = table_of(where, table, kind, isa)
        unknown = set(rows) - set(LEVELS[kind]) - {"basis", "source"}
        if unknown:
            raise UsageError(f"kernel profile {where}: unknown key {isa}.{kind}.{min(unknown)}")
        levels[kind] = {
            level: round(1000 * number(where, f"{isa}.{kind}.{level}", rows.get(level))) for level in LEVELS[kind]
        }
        basis[kind] = (str(rows.get("basis", default[0])), str(rows.get("source", default[1])))
    runtime = table_of(where, table, "runtime", isa)
    basis["runtime"] = (str(runtime.get("basis", "assumed")), str(runtime.get("source", "")))
    operator = int(number(where, f"{isa}.runtime.operator", runtime.get("operator")))
    rate = number(where, f"{isa}.runtime.bytes_per_cycle", runtime.get("bytes_per_cycle"))
    if variants:
        away = _away(where, f"{isa}.runtime.away", runtime.get("away", [1, 0, 0]))
        return CoreCosts(operator, rate, levels, basis, away=away)
    waits = number(where, f"{isa}.runtime.wait_states", runtime.get("wait_states"))
    fitted: Mapping[str, FittedCosts] = _FittedTables(where, isa, texts)
    if not fitted:
        fitted = {kind: _fitted(where, f"{isa}.{kind}", kind, table[kind]) for kind in table if kind in KINDS}
    unknown = set(table) - set(fitted) - {"basis", "source", "runtime"}
    if unknown:
        raise UsageError(f"kernel profile {where}: unknown key {isa}.{min(unknown)}")
    outside = shape_errors(where, f"{isa}.runtime.outside", runtime.get("outside", {}))
    return CoreCosts(operator, rate, levels, basis | dict.fromkeys(fitted, default), fitted, waits, outside)


def _fitted(where: str, key: str, kind: str, table: object) -> FittedCosts:
    if not isinstance(table, Mapping):
        raise UsageError(f"kernel profile {where}: {key} must be a table")
    unknown = set(table) - set(KINDS[kind].levels) - {"code", "runs", "median", "worst", "shapes"}
    if unknown:
        raise UsageError(f"kernel profile {where}: unknown key {key}.{min(unknown)}")
    levels = {level: _level(where, f"{key}.{level}", table.get(level, [0, 0, []])) for level in KINDS[kind].levels}
    spans = table.get("code")
    if not isinstance(spans, list) or any(not isinstance(span, list) or len(span) != 2 for span in spans):
        raise UsageError(f"kernel profile {where}: {key}.code: pairs of offset and bytes are needed")
    code = [tuple(int(number(where, f"{key}.code", value)) for value in span) for span in spans]
    runs, median, worst = (number(where, f"{key}.{name}", table.get(name)) for name in ("runs", "median", "worst"))
    shapes = shape_ranges(where, f"{key}.shapes", table.get("shapes", {}))
    return FittedCosts(levels, tuple((a, b) for a, b in code), int(runs), median, worst, shapes)


def _level(where: str, key: str, values: object) -> LevelCost:
    if not isinstance(values, list) or len(values) not in (3, 4):
        raise UsageError(f"kernel profile {where}: {key}: cycles, cycles waited, words and what is away are needed")
    first, second = (number(where, key, value) for value in values[:2])
    listed = values[2] if isinstance(values[2], list) else [[0, values[2]]]  # how many, where is not known
    pairs = [word if isinstance(word, list) else [word, 1] for word in listed]
    if any(len(pair) != 2 for pair in pairs):
        raise UsageError(f"kernel profile {where}: {key}: a word is an offset, or [offset, how often]")
    words = [(int(number(where, key, offset)), number(where, key, often)) for offset, often in pairs]
    return LevelCost(first, second, tuple(words), _away(where, key, values[3] if len(values) == 4 else [0, 0, 0]))


def _away(where: str, key: str, result: object) -> tuple[float, float, float]:
    if not isinstance(result, list) or len(result) != 3:
        raise UsageError(f"kernel profile {where}: {key}: away are cycles, words and those that begin anew")
    cycles, words, anew = (number(where, key, value) for value in result)
    return cycles, words, anew
