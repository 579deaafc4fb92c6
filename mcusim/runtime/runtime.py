"""The runtimes there are: each file of this package that has a ``RUNTIME``, and no other list names them.

Not modelled: a runtime that chooses between several ways of executing an operator while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal

from mcusim.errors import UsageError
from mcusim.machine.cores import CoreTraits
from mcusim.model.geometry import Geometry
from mcusim.model.graph import Graph, Operator
from mcusim.plug_ins import PlugIn, find_known, installed, is_path, load, load_installed, package_of, remember
from mcusim.runtime.patches import Patches, parse_grid, patches_of

_KIND = "runtime"
DEFAULT = "tflm"


@dataclass(frozen=True, slots=True)
class Request:
    """A buffer of ``bytes`` bytes that a runtime plans, alive at steps ``first`` to ``last``, both inclusive;
    ``tensor`` is None for scratch."""

    name: str
    kind: Literal["activation", "unused", "scratch"]
    bytes: int
    first: int
    last: int
    tensor: int | None = None


@dataclass(frozen=True, slots=True)
class ArrayRules:
    """What compiled code has in its one static array, and what in flash, in bytes.

    ``in_place``: may an operator write over its first input where that dies. Of the operators' geometries: ``columns``
    of inputs that each has in scratch, by the name of a rule of ``im2col`` (the first is the default); ``scratch``, the
    one buffer of all kernels, with or without operators in place, by that rule; ``filters``, those widened in RAM.
    ``parameters`` of a graph are in flash; so are multipliers, shifts and call structures of ``own_kernels``. Others
    have these, and scratch, where an interpreter has them: among the activations and behind them.
    """

    im2col: tuple[str, ...]
    in_place: Callable[[Graph, Operator], bool]
    columns: Callable[[Sequence[Geometry], str], tuple[int, ...]]
    scratch: Callable[[Sequence[Geometry], bool, str], int]
    filters: Callable[[Sequence[Geometry]], int]
    parameters: Callable[[Graph], int]
    own_kernels: bool = True


@dataclass(frozen=True, slots=True)
class AblationStep:
    """One more technique than the step before: what is added, by ``name``; who executes the model then, what it still
    leaves out, and whether operators are in place."""

    name: str
    runtime: str
    without: frozenset[str] = frozenset()
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class InferenceEngine:
    """What users call an inference engine: a runtime with somebody's kernels.

    ``name`` is for texts, ``whose`` says who wrote the kernels, ``kernels`` is their cost profile; None is the
    runtime's own choice, of which nobody said the build.
    """

    name: str
    whose: str
    kernels: str | None = None


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime, as planning, timing and flash see it.

    ``executed``: the graph whose operators it calls, without those that vanish in it or are part of others; of that
    graph it is the graph itself. ``requests``: what it asks its own planner for. ``kernels``: the cost profile that is
    replayed and the set that is emulated where no others are named; with ``own_kernels`` no others can be but
    ``profiles``, costs of another's code for this runtime, which no other runtime takes. ``builds``: the profiles of
    kernels that a firmware with this runtime may have, of which nobody said which.

    Memory: ``alignment`` of tensors and scratch, bytes; ``node_bytes`` that it keeps in RAM for each operator at least;
    ``per_channel_bytes`` for each output channel of a convolution. Flash: ``code_bytes`` of its own, from
    ``code_source``, and ``keeps_file``, whether the model's file is there too. Time: ``cycles`` around each kernel call
    on a core, ``cycles_of`` what they are, with their basis. ``array``: the rules of compiled code that places all data
    in one static array; None for an interpreter, which plans its arena of ``requests`` when it starts.

    ``engines``: what users call it with the kernels that it takes.

    ``techniques`` that it can leave out, by name what they are; ``lesser`` is the runtime without some of them, which
    are ``left_out`` there. ``ladder``: the steps that lead from an interpreter to it, ``ladder_note`` where and why
    they are not those that were published of it. ``cut`` makes the first operators
    of a graph run on patches; ``patches`` that it does so with.
    """

    name: str
    description: str
    executed: Callable[[Graph], Graph]
    requests: Callable[[Graph], tuple[Request, ...]]
    kernels: tuple[str, str]
    alignment: int
    node_bytes: int
    per_channel_bytes: int
    code_bytes: int
    code_source: str
    keeps_file: bool
    cycles: Callable[[CoreTraits], int]
    cycles_of: tuple[str, str]
    own_kernels: bool = False
    profiles: tuple[str, ...] = ()
    builds: tuple[str, ...] = ()
    array: ArrayRules | None = None
    engines: tuple[InferenceEngine, ...] = ()
    techniques: Mapping[str, str] = field(default_factory=dict, hash=False)
    lesser: Callable[[frozenset[str]], Runtime] | None = None
    left_out: frozenset[str] = frozenset()
    ladder: tuple[AblationStep, ...] = ()
    ladder_note: str = ""
    cut: Callable[[Graph, Patches], Graph] | None = None
    patches: Patches | None = None

    def takes(self, kernels: str) -> bool:
        """Whether kernels of that name can be called by it."""
        return kernels in (*self.kernels, *self.profiles) if self.own_kernels else owner_of(kernels) is None

    def on_patches(self, patches: Patches | None) -> Runtime:
        """This runtime with the first operators on ``patches``. Raises UsageError where it has none."""
        if patches is None:
            return self
        if self.cut is None:
            raise UsageError(f"--patches has no effect with --runtime {self.name}; it is for compiled code")
        return replace(self, executed=partial(_executed, self.executed, self.cut, patches), patches=patches)

    def without(self, names: Collection[str]) -> Runtime:
        """This runtime without the techniques of these names. Raises UsageError for one that it has not."""
        unknown = [name for name in names if name not in self.techniques]
        if unknown:
            others = f"it can leave out {', '.join(self.techniques)}" if self.techniques else "it can leave out nothing"
            raise UsageError(f"--without {unknown[0][:80]} has no effect with --runtime {self.name}: {others}")
        return self.lesser(frozenset(names)) if names and self.lesser else self


def _executed(
    executed: Callable[[Graph], Graph], cut: Callable[[Graph, Patches], Graph], patches: Patches, graph: Graph
) -> Graph:
    return graph if graph.patches else cut(executed(graph), patches)


@cache
def _runtimes() -> dict[str, Runtime]:
    package = import_module(__name__.rpartition(".")[0])
    modules = (import_module(f"{package.__name__}.{module.name}") for module in iter_modules(package.__path__))
    values = [runtime for module in modules if (runtime := getattr(module, "RUNTIME", None)) is not None]
    return {runtime.name: runtime for runtime in sorted(values, key=lambda item: (item.name != DEFAULT, item.name))}


def runtime_names() -> tuple[str, ...]:
    """Names that :func:`find_runtime` takes, the default first."""
    return tuple(_runtimes())


def find_runtime(name: str = DEFAULT) -> Runtime:
    """The runtime of that name, in any case, of a file by its path, or of an installed package. Raises UsageError
    naming those there are, or file and line of one that cannot be loaded."""
    if is_path(name):
        return _from_file(name)
    if name.lower() not in _runtimes() and (plug_in := find_known(_KIND, name.lower())) is not None:
        return _from_file(plug_in.file, plug_in.sha256)
    if name.lower() not in _runtimes() and (point := installed(_KIND).get(name.lower())) is not None:
        value, file, digest = load_installed(_KIND, point)
        return _taken(value, file, PlugIn(_KIND, "", file, digest, package_of(point)))
    if name.lower() not in _runtimes():
        near = get_close_matches(name[:80].lower(), runtime_names(), n=1)
        hint = f", did you mean {near[0]}" if near else ""
        raise UsageError(f"no runtime {name[:80]!r}{hint}; there are {', '.join(runtime_names())}")
    return _runtimes()[name.lower()]


def _from_file(path: str, wanted: str | None = None) -> Runtime:
    module, full, digest = load(_KIND, path, wanted)
    return _taken(getattr(module, "RUNTIME", None), path, PlugIn(_KIND, "", full, digest))


def _taken(value: object, shown: str, plug_in: PlugIn) -> Runtime:
    """A runtime from outside under its name, from now on. Raises UsageError for what is none, or has the name of
    another one."""
    if not isinstance(value, Runtime):
        raise UsageError(f"{shown}: has no RUNTIME that is a mcusim.runtime.runtime.Runtime")
    name, before = value.name, find_known(_KIND, value.name)
    if name != name.lower() or (name in _runtimes() and (before is None or before.file != plug_in.file)):
        why = "is not in lower case" if name != name.lower() else "is that of another runtime"
        raise UsageError(f"{shown}: the name {name!r} {why}")
    remember([replace(plug_in, name=name)])
    _runtimes()[name] = value
    return value


def inference_engines() -> tuple[tuple[Runtime, InferenceEngine], ...]:
    """Every engine with its runtime, those of the default runtime first."""
    return tuple((runtime, engine) for runtime in _runtimes().values() for engine in runtime.engines)


def owner_of(kernels: str) -> Runtime | None:
    """The runtime that alone takes costs of that name; None where there is none."""
    return next((runtime for runtime in _runtimes().values() if kernels in runtime.profiles), None)


def recorded_runtime(options: Mapping[str, object]) -> Runtime:
    """The runtime that a program's header names among its options, else the default one, without the techniques that
    it names. Raises UsageError."""
    left_out = [name for name in str(options.get("without", "")).split(",") if name]
    runtime = find_runtime(str(options.get("runtime", DEFAULT))).without(left_out)
    grid, split = options.get("patches"), options.get("patch_split")
    return runtime.on_patches(
        patches_of(None if grid is None else parse_grid(grid), split if isinstance(split, int) else None)
    )


def techniques() -> dict[str, str]:
    """What some runtime can leave out, by name."""
    return {name: what for runtime in _runtimes().values() for name, what in runtime.techniques.items()}
