"""The slot for a replacement policy from outside the package: a file with the three native functions of one
(:mod:`mcusim.memory.cache.replacement`), by its path, or an installed package's module (entry points
``mcusim.replacements``).

    cache.replacement = bind("./newest.py")

Native code of the package is not built again for it: the three are symbols that are resolved when it is loaded, and
once more when the slot gets another policy.

Not modelled: memory systems with different policies from outside that are used by turns, and native functions in
Python.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import ModuleType

from mcusim.errors import McusimError, UsageError
from mcusim.memory.state_layout import CacheLine, CacheState, MemoryState
from mcusim.native import library
from mcusim.native.call_graph import called
from mcusim.native.declarations import External, NativeFunction
from mcusim.native.fingerprint import fingerprint
from mcusim.native.functions import IN_PYTHON
from mcusim.plug_ins import file_sha256, find_known, load_named, remember

KIND = "replacement"
OUTSIDE = 255
"""From this one on a cache's ``replacement`` is a policy from outside: the slot is asked."""
_NOBODY = 8  # no function lies there; none is called before there is a policy
_LINE = MemoryState, CacheState, CacheLine
SLOT = {
    "hit": External(__name__, "mcusim_outside_hit", _NOBODY, None, _LINE),
    "fill": External(__name__, "mcusim_outside_fill", _NOBODY, None, _LINE),
    "victim": External(__name__, "mcusim_outside_victim", _NOBODY, CacheLine, (MemoryState, CacheState, int)),
}
_loaded: dict[str, dict[str, NativeFunction]] = {}  # by the hash of the file, in the order of their numbers
_bound = [""]


def bind(name: str) -> int:
    """The number of a policy, which the slot has from now on: by the path of its file, or an installed one's name.

    Raises UsageError with file and line for one that cannot be loaded, or is another one than the process that started
    this one has.
    """
    if IN_PYTHON:
        raise UsageError(f"replacement {name[:200]}: one from outside is native code, which MCUSIM_NATIVE=0 turns off")
    digest = _known(name) or _load(name)
    if _bound[0] != digest:
        functions = _loaded[digest]
        _compile(name, f"{KIND}-{_stored_as(functions)}", tuple(function.symbol for function in functions.values()))
        for role, function in functions.items():
            SLOT[role].address = library.address(function.symbol)
        library.resolve_again()
        _bound[0] = digest
    return OUTSIDE + [*_loaded].index(digest)


def _stored_as(functions: Mapping[str, NativeFunction]) -> str:
    """A digest of all that their code depends on: what they name and call, which may lie in other files."""
    todo, prints = [*functions.values()], dict[str, str]()
    while todo:
        function = todo.pop()
        if function.symbol not in prints:
            prints[function.symbol] = fingerprint(function)
            todo += called(function.py_func, NativeFunction)
    return hashlib.sha256("".join(f"{key} {prints[key]}\n" for key in sorted(prints)).encode()).hexdigest()[:32]


def _compile(name: str, stored: str, symbols: tuple[str, ...]) -> None:
    try:
        library.load_stored(stored, symbols)
    except McusimError:
        raise
    except Exception as error:  # whatever numba says of a user's code
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise UsageError(f"{name}: cannot be compiled: {lines[-1].strip()[:200]}") from None


def _known(name: str) -> str:
    """The hash of a policy that this process has loaded, and that is still as it was."""
    plug_in = find_known(KIND, name)
    if plug_in is None or plug_in.sha256 not in _loaded:
        return ""
    return plug_in.sha256 if plug_in.package or file_sha256(plug_in.file) == plug_in.sha256 else ""


def _load(name: str) -> str:
    known = find_known(KIND, name)
    elsewhere = known is not None and known.sha256 not in _loaded  # this process was started with it
    module, plug_in = load_named(KIND, name, known.sha256 if known is not None and elsewhere else None)
    if plug_in.sha256 not in _loaded:
        _loaded[plug_in.sha256] = _functions(module, name)
    remember([plug_in])
    return plug_in.sha256


def _has(function: NativeFunction, slot: External) -> bool:
    """Whether its signature is the slot's."""
    try:
        return function.signature == (slot.parameters, slot.result)
    except TypeError:  # a parameter without a type
        return False


def _functions(module: ModuleType, name: str) -> dict[str, NativeFunction]:
    functions = {}
    for role, slot in SLOT.items():
        function = getattr(module, role, None)
        if not isinstance(function, NativeFunction) or not _has(function, slot):
            takes = ", ".join(kind.__name__ for kind in slot.parameters)
            back = getattr(slot.result, "__name__", "None")
            raise UsageError(f"{name}: a replacement policy has a native function {role}({takes}) -> {back}")
        functions[role] = function
    return functions
