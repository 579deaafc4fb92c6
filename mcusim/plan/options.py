"""What a user can choose about a plan: options that a policy declares, each once, and those of every plan.

A declaration is all there is to an option: its flag and axis, its key in ``mcusim.toml``, its keyword in Python, the
word in printed commands and the key in a program's header are read from it (:mod:`mcusim.plan.registry` lists them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Generic, Self, TypedDict, TypeVar, overload

from mcusim.errors import UsageError
from mcusim.model.channel_tiles import counts_text, parse_counts
from mcusim.program.unknown_operators import Costs
from mcusim.runtime.patches import AUTO, Patches, parse_grid, parse_split, patches_of
from mcusim.runtime.runtime import DEFAULT, Runtime, find_runtime, runtime_names, techniques
from mcusim.units import parse_size, quoted

ORDERS = ("default", "optimal")
ALLOCATORS = ("greedy", "linear", "optimal", "offline")
NONE = "none"  # how a text says that there is none
Cell = str | int | bool | None
"""A value as tables, JSON and axes of sweeps have it."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Option(Generic[T]):
    """An option: ``name`` as a keyword, ``default``, ``help`` with ``metavar`` for the command line.

    ``{takers}`` in ``help`` are the policies that take it; ``number``: a configuration file has it as a whole number;
    ``is_flag``: it is yes or no, without a value on the command line; ``several``: a file may have it as a list.
    ``spelled``: a run's text has it as the command line does. ``label``: how a value that is not the default stands in
    the name of a plan, next to the policy (``"without {}"``). ``is_size``: its values are bytes.
    ``part_of``: the name of an option without which it says nothing.

    ``parse`` makes a value of what a user gave, in whatever form, and raises UsageError or UnitError for what is none;
    ``to_json`` writes a value for tables and JSON, ``to_cli`` for a command line.
    """

    name: str
    default: T
    metavar: str
    help: str
    parse: Callable[[object], T]
    to_json: Callable[[T], Cell]
    to_cli: Callable[[T], str]
    number: bool = False
    is_flag: bool = False
    several: bool = False
    spelled: bool = False
    label: str | None = None
    is_size: bool = False
    part_of: str | None = None

    @property
    def flag(self) -> str:
        """As the command line has it, without dashes: ``sram-budget``."""
        return self.name.replace("_", "-")

    def parse_or_default(self, value: object) -> T:
        """The value of what a user gave; None is the default."""
        return self.default if value is None else self.parse(value)


def choice(
    name: str, choices: Collection[str], default: str, *, metavar: str = "NAME", help: str, label: str | None = None
) -> Option[str]:
    """One of ``choices``; a number stands for its text."""
    title = name.replace("_", " ")

    def parse(given: object) -> str:
        if isinstance(given, bool) or not isinstance(given, str | int):
            raise UsageError(f"{name} = {repr(given)[:80]}: must be one of {', '.join(choices)}")
        if str(given) not in choices:
            raise UsageError(f"unknown {title} {quoted(str(given)[:80])}; there are {', '.join(choices)}")
        return str(given)

    return Option(name, default, metavar, help, parse, str, str, label=label)


def names(
    name: str,
    known: Collection[str],
    *,
    default: Collection[str] | None = None,
    metavar: str = "LIST",
    help: str,
    label: str | None = None,
) -> Option[frozenset[str]]:
    """Some of ``known`` names, by default all: a list, or a text with commas; ``none`` for none of them."""

    def parse(given: object) -> frozenset[str]:
        value = given.split(",") if isinstance(given, str) else given
        if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping):
            raise UsageError(f"{name} = {repr(given)[:80]}: must be some of {', '.join(known)}, or several")
        several = list(value)
        if not all(isinstance(item, str) for item in several):
            raise UsageError(f"{name} = {repr(given)[:80]}: must be texts, some of {', '.join(known)}")
        chosen = [item.strip() for item in several if item.strip()]
        if isinstance(given, str) and not chosen:
            raise UsageError(f"--{name.replace('_', '-')} has no names in it: {quoted(given[:80])}")
        if chosen == [NONE]:
            return frozenset()
        unknown = [item for item in chosen if item not in known]
        if unknown:
            raise UsageError(f"unknown {name} {quoted(unknown[0][:80])}; there are {', '.join(known)}")
        return frozenset(chosen)

    def text(value: frozenset[str]) -> str:
        return ",".join(text for text in known if text in value) or NONE

    initial = frozenset(known if default is None else default)
    return Option(name, initial, metavar, help, parse, text, text, several=True, label=label)


def size(name: str, *, metavar: str = "SIZE", help: str) -> Option[int | None]:
    """A number of bytes, or a text with a unit; by default none."""

    def parse(given: object) -> int | None:
        if given == NONE:
            return None
        wanted = 'a size ("256 KiB"), whole bytes or "none"'
        if isinstance(given, bool) or not isinstance(given, str | Integral):
            raise UsageError(f"{name} = {repr(given)[:80]}: must be {wanted}, not {type(given).__name__}")
        result = parse_size(given) if isinstance(given, str) else int(given)
        if result < 1:
            raise UsageError(f"{name} = {result} B is not a size; give at least 1 B")
        return result

    return Option(name, None, metavar, help, parse, lambda value: value, lambda value: f"{value} B", is_size=True)


def flag(name: str, *, help: str) -> Option[bool | None]:
    """Yes or no; by default None, what it is then depends on something else."""

    def parse(given: object) -> bool:
        if not isinstance(given, bool):
            raise UsageError(f"{name} = {repr(given)[:80]}: must be true or false, not {type(given).__name__}")
        return given

    return Option(name, None, "", help, parse, lambda value: value, lambda value: "", is_flag=True)


def region(name: str, *, metavar: str = "REGION", help: str) -> Option[str | None]:
    """The name of a memory region, by default none; the machine says whether there is one."""

    def parse(given: object) -> str | None:
        if not isinstance(given, str) or not given or len(given) > 64:
            raise UsageError(f'{name} = {repr(given)[:80]}: must be the name of a region, or "none" for the default')
        return None if given == NONE else given

    return Option(name, None, metavar, help, parse, lambda value: value, str)


@overload
def whole(name: str, least: int, most: int, default: int, *, metavar: str = "N", help: str) -> Option[int]: ...
@overload
def whole(name: str, least: int, most: int, *, metavar: str = "N", help: str) -> Option[int | None]: ...
def whole(
    name: str, least: int, most: int, default: int | None = None, *, metavar: str = "N", help: str
) -> Option[Any]:
    """A whole number, as such or as a text; one that has no number by default takes ``none`` too."""

    def parse(given: object) -> int | None:
        if given == NONE and default is None:
            return None
        text = given.strip() if isinstance(given, str) else ""
        number = int(text) if re.fullmatch("[0-9]{1,18}", text, re.ASCII) else given
        if isinstance(number, bool) or not isinstance(number, Integral) or not least <= int(number) <= most:
            wanted = f"a whole number from {least} to {most:,}" + ' or "none"' * (default is None)
            raise UsageError(f"{name} = {repr(given)[:80]}: must be {wanted}")
        return int(number)

    return Option(name, default, metavar, help, parse, lambda value: value, str, number=True)


def percent(name: str, most: int, *, metavar: str = "PERCENT", help: str) -> Option[int | None]:
    """Whole per cent, as a number or a text (``+20%``); by default none."""

    def parse(given: object) -> int | None:
        if given == NONE:
            return None
        match = re.fullmatch(r"\+?([0-9]{1,6}) ?%?", given.strip(), re.ASCII) if isinstance(given, str) else None
        number = int(match[1]) if match else given
        if isinstance(number, bool) or not isinstance(number, Integral) or not 0 <= int(number) <= most:
            raise UsageError(f"{name} = {repr(given)[:80]}: must be per cent, as +20%, at most {most:,}")
        return int(number)

    return Option(name, None, metavar, help, parse, lambda value: value, lambda value: f"+{value}%", number=True)


def counts(name: str, *, metavar: str = "LIST", help: str) -> Option[tuple[tuple[int, int], ...]]:
    """A number for each of some operators, by default for none: a text (``75:14,73:2``), or a mapping."""

    def parse(given: object) -> tuple[tuple[int, int], ...]:
        if given == NONE or (isinstance(given, Mapping | tuple) and not given):
            return ()
        if isinstance(given, tuple):
            given = dict(given)
        if isinstance(given, Mapping):
            given = ",".join(f"{operator}:{count}" for operator, count in given.items())
        if not isinstance(given, str):
            raise UsageError(f"{name} = {repr(given)[:80]}: must be a text as 75:14,73:2, or a mapping")
        try:
            return tuple(parse_counts(given).items())
        except UsageError as error:
            raise UsageError(f"{name} = {quoted(given[:80])}: {error}") from None

    def text(value: tuple[tuple[int, int], ...]) -> str:
        return counts_text(dict(value)) or NONE

    return Option(name, (), metavar, help, parse, text, text, spelled=True)


def some_by_operator(
    name: str, known: Collection[str], *, metavar: str = "LIST", help: str
) -> Option[tuple[tuple[int, frozenset[str]], ...]]:
    """Some of ``known`` names for each of some operators, by default for none: a text, ``8:input,75:filter``."""

    def parse(given: object) -> tuple[tuple[int, frozenset[str]], ...]:
        if given in (NONE, ()):
            return ()
        if isinstance(given, tuple):
            given = text(given)
        if not isinstance(given, str):
            raise UsageError(f"{name} = {repr(given)[:80]}: must be a text as 8:{next(iter(known))}")
        entries: dict[int, set[str]] = {}
        for part in given.split(","):
            number, _, what = (word.strip() for word in part.partition(":"))
            if re.fullmatch("[0-9]{1,6}", number, re.ASCII) is None or what not in known:
                raise UsageError(
                    f"{name} = {quoted(given[:80])}: {quoted(part[:40])} is no operator's number with one of"
                    f" {', '.join(known)}"
                )
            entries.setdefault(int(number), set()).add(what)
        return tuple((number, frozenset(what)) for number, what in sorted(entries.items()))

    def text(value: tuple[tuple[int, frozenset[str]], ...]) -> str:
        return ",".join(f"{number}:{what}" for number, several in value for what in known if what in several) or NONE

    return Option(name, (), metavar, help, parse, text, text, spelled=True)


def regions_by_tensor(name: str, *, metavar: str = "LIST", help: str) -> Option[tuple[tuple[int, str], ...]]:
    """The memory of each of some tensors, by default of none: a text, ``3:sdram,12-15:sram1``, or a mapping."""

    def parse(asked: object) -> tuple[tuple[int, str], ...]:
        if asked == NONE or (isinstance(asked, Mapping | tuple) and not asked):
            return ()
        if isinstance(asked, Mapping | tuple):
            asked = text(tuple(dict(asked).items()))
        if not isinstance(asked, str):
            raise UsageError(f"{name} = {repr(asked)[:80]}: must be a text as 3:sdram,12:sram1, or a mapping")
        entries: dict[int, str] = {}
        for part in asked.split(","):
            match = re.fullmatch(r"\s*([0-9]{1,6})(?:-([0-9]{1,6}))?\s*:\s*(\w{1,64})\s*", part, re.ASCII)
            first, last = (0, -1) if match is None else (int(match[1]), int(match[2] or match[1]))
            if match is None or first > last:
                raise UsageError(
                    f"{name} = {quoted(asked[:80])}: {quoted(part[:40])} is no tensor's number with a region, as"
                    " 3:sdram"
                )
            for number in range(first, last + 1):
                if entries.setdefault(number, match[3]) != match[3]:
                    raise UsageError(f"{name} = {quoted(asked[:80])}: tensor {number} is in two regions")
        return tuple(sorted(entries.items()))

    def text(value: tuple[tuple[int, str], ...]) -> str:
        runs: list[tuple[int, int, str]] = []
        for number, memory in value:
            first, last, name = runs[-1] if runs else (0, -2, "")
            if (number - 1, memory) == (last, name):
                runs[-1] = (first, number, memory)
            else:
                runs.append((number, number, memory))
        spans = (f"{first}:{name}" if first == last else f"{first}-{last}:{name}" for first, last, name in runs)
        return ",".join(spans) or NONE

    return Option(name, (), metavar, help, parse, text, text, spelled=True)


def _runtime(given: object) -> str:
    if not isinstance(given, str):
        raise UsageError(f"runtime = {repr(given)[:80]}: must be one of {', '.join(runtime_names())}")
    return find_runtime(given).name


def _allocator(given: object) -> str | None:
    if given == NONE:
        return None
    if given == "dynamic":
        raise UsageError(
            "the dynamic allocator moves tensors while the network runs, which no program does; `mcusim memory"
            " --allocator dynamic` shows what it would need"
        )
    if not isinstance(given, str) or given not in ALLOCATORS:
        raise UsageError(f"allocator = {repr(given)[:80]}: must be one of {', '.join(ALLOCATORS)}")
    return given


SRAM_BUDGET = size("sram_budget", help='Limit on-chip RAM ({takers}): "256 KiB".')
ARENA = region(
    "arena", help="The region that holds the network's data ({takers}). Default: where they fit, in two if need be."
)
PERSISTENT = region(
    "persistent",
    help="The region of the interpreter's data and of variables ({takers}): TFLM's second arena. Default: --arena.",
)
SCRATCH = region(
    "scratch", help="The region of one scratch buffer for all kernels ({takers}). Default: among the tensors."
)
TENSOR_REGIONS: Option[tuple[tuple[int, str], ...]] = regions_by_tensor(
    "tensor_regions",
    help="With {takers}: single tensors in other memories, by their numbers: 3:sram1,12-15:ccm,40:flash. What is on"
    " chip is not copied.",
)
WEIGHTS = region("weights", help="The region weights are read from (sdram, qspi).")
ORDER = choice(
    "order", ORDERS, "default", help="The operators: default, as stored; optimal: in the order of least peak."
)
ALLOCATOR: Option[str | None] = Option(
    "allocator", None, "NAME",
    "Who places tensors: greedy (TFLM's), linear, optimal, or offline: the plan in the file, the default where there is"
    " one, else greedy.",
    _allocator, lambda value: value, str,
)  # fmt: skip
_RULES = dict.fromkeys(
    rule for name in runtime_names() if (array := find_runtime(name).array) is not None for rule in array.im2col
)
IM2COL = choice(
    "im2col", tuple(_RULES), next(iter(_RULES)),
    help="Columns of inputs that compiled convolutions have at once: two, or adaptive: as many as fit where the largest"
    " has one.",
)  # fmt: skip
IN_PLACE = flag(
    "in_place",
    help="ADD and the like write over an input that dies; RESHAPE is a view. Compiled code: depthwise convolutions, by"
    " default.",
)
_RUNTIMES = "; ".join(f"{name} ({find_runtime(name).description})" for name in runtime_names())
RUNTIME: Option[str] = Option(
    "runtime", DEFAULT, "NAME", f"What executes the model: {_RUNTIMES}. Default: {DEFAULT}.", _runtime, str, str,
    label="{}",
)  # fmt: skip
WITHOUT: Option[frozenset[str]] = names(
    "without", tuple(techniques()), default=(),
    help=f"What compiled code leaves out, to see what it is worth: {', '.join(techniques())}.",
    label="without {}",
)  # fmt: skip
PATCHES: Option[str | None] = Option(
    "patches", None, "RxC",
    "Compiled code under {takers}: the first operators run on patches of their output (2x2) one after the other, which"
    " needs less RAM; auto: those that need least.",
    parse_grid, lambda value: value, str,
)  # fmt: skip
PATCH_SPLIT: Option[int | str | None] = Option(
    "patch_split", None, "N", 'How many operators run on --patches: 13, or "5 blocks", as MCUNetV2 counts them.',
    parse_split, lambda value: value, str, number=True, part_of=PATCHES.name,
)  # fmt: skip
PATCH_MACS = replace(
    percent("patch_macs", 1000, help="The most that --patches auto may compute more: +20%. Default: +100%."),
    part_of=PATCHES.name,
)
CHANNEL_TILES = counts(
    "channel_tiles",
    help="With {takers}: operators in so many parts of their output channels, joined again: 75:14,73:2. For filters"
    " that are larger than their buffer.",
)  # fmt: skip
EVERY_PLAN: tuple[Option[Any], ...] = (RUNTIME, WEIGHTS, ORDER, ALLOCATOR, IN_PLACE, WITHOUT)
"""What every policy takes."""


def without_effect(runtime: Runtime, options: Iterable[str]) -> list[str]:
    """Which of ``options``, by name, are for what ``runtime`` has not: techniques to leave out, patches."""
    cannot = {WITHOUT.name: not runtime.techniques, PATCHES.name: runtime.cut is None}
    cannot[PATCH_SPLIT.name] = cannot[PATCH_MACS.name] = cannot[PATCHES.name]
    return [name for name in options if cannot.get(name)]


def runtime_of(given: Mapping[str, object]) -> Runtime:
    """The runtime that plan options, as a user gives them, ask for, without what they leave out. Raises UsageError."""
    return find_runtime(RUNTIME.parse_or_default(given.get(RUNTIME.name))).without(
        WITHOUT.parse_or_default(given.get(WITHOUT.name))
    )


def recorded_options(header: Mapping[str, object]) -> dict[str, object]:
    """Of the options in a program's header those that say what executes it."""
    executing = (RUNTIME, WITHOUT, PATCHES, PATCH_SPLIT)
    return {option.name: header[option.name] for option in executing if option.name in header}


class PlanKeywords(TypedDict, total=False):
    """``runtime``: what executes the model. ``weights``: the region they are read from. ``order``: of :data:`ORDERS`.
    ``allocator``: of :data:`ALLOCATORS`.
    ``in_place``: results lie in the bytes of inputs that die. ``without``: techniques that compiled code leaves out."""

    runtime: str | None
    weights: str | None
    order: str | None
    allocator: str | None
    in_place: bool | None
    without: str | Collection[str] | None


class RegionKeywords(TypedDict, total=False):
    """Regions, by their names in the machine: ``arena`` of the data, by default the first memory in which they fit;
    ``persistent`` of the interpreter's data and of variables, ``scratch`` of one scratch buffer for all kernels, both
    by default with the tensors."""

    arena: str | None
    persistent: str | None
    scratch: str | None


class PatchKeywords(TypedDict, total=False):
    """``patches`` (``2x2`` or ``auto``) of the output of the first ``patch_split`` operators (``13``, ``"5 blocks"``),
    one after the other; ``patch_macs`` (``"+20%"``): the most that ``auto`` may compute more."""

    patches: str | None
    patch_split: int | str | None
    patch_macs: int | str | None


class MemoryKeywords(PatchKeywords, RegionKeywords, total=False):
    """What a memory plan takes of a plan's options."""


@dataclass(frozen=True, slots=True)
class OptionValues:
    """What is chosen: ``options[OPTION]`` is the value of a declared one, ``values`` are those that are not the
    default, by name."""

    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, declared: Iterable[Option[Any]], given: Mapping[str, object], **others: Any) -> Self:
        """Values as a user gives them, in any form, None for the default; names that are not ``declared`` are none of
        these. ``others`` are what a subclass has besides. Raises UsageError or UnitError for one that cannot be."""
        pairs = [(option, option.parse_or_default(given[option.name])) for option in declared if option.name in given]
        chosen = [(option.name, value) for option, value in pairs if value != option.default]
        return cls(tuple(sorted(chosen)), **others)

    def __getitem__(self, option: Option[T]) -> T:
        for name, value in self.values:
            if name == option.name:
                own: T = value
                return own
        return option.default

    def having(self, option: Option[T], value: T) -> Self:
        """These options with another value of one."""
        others = [(name, value) for name, value in self.values if name != option.name]
        own = [] if value == option.default else [(option.name, value)]
        return replace(self, values=tuple(sorted([*others, *own])))


@dataclass(frozen=True, slots=True)
class PlanOptions(OptionValues):
    """What is chosen about a plan.

    :data:`ORDER`: the operators as stored, or in the order of least peak. :data:`ALLOCATOR`: who places the tensors;
    None is ``offline`` for a file that has a plan for the order, else ``greedy``. :data:`IN_PLACE`: results lie in the
    bytes of inputs that die, as :func:`mcusim.plan.liveness.accounting.sharing` defines it. ``seconds`` limits the
    search of an order, and that of offsets to :data:`PLACING` at most. ``costs``: what opaque operators cost
    (:mod:`mcusim.program.unknown_operators`).
    """

    seconds: float = 60.0
    costs: Costs = ()

    @property
    def runtime(self) -> Runtime:
        """What executes the model. Raises UsageError where it cannot leave out what it is to be without."""
        left_out = self[WITHOUT]
        runtime = find_runtime(self[RUNTIME]).without(left_out)
        if self[PATCHES] == AUTO:
            runtime.on_patches(Patches(1, 2, 1))  # raises where there are none
        return runtime.on_patches(patches_of(self[PATCHES], self[PATCH_SPLIT]))
