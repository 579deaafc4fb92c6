"""The slot for a replacement policy from outside the package: a file with the three native functions of one
(:mod:`mcusim.memory.cache.replacement`).

    use(Path("newest.py"))             # before native code is loaded
    cache.replacement = OUTSIDE

Native code of the package is not built again for it: the three are symbols that are resolved when it is loaded.

Not modelled: more than one in a process, a name for it in machine files, and native functions in Python.
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from mcusim.errors import UsageError
from mcusim.memory.state_layout import CacheLine, CacheState, MemoryState
from mcusim.native import library
from mcusim.native.declarations import External, NativeFunction

OUTSIDE = 255
"""In a cache's ``replacement``: ask the policy of the slot."""
_NOBODY = 8  # no function lies there; none is called before there is a policy
_LINE = MemoryState, CacheState, CacheLine
SLOT = {
    "hit": External(__name__, "mcusim_outside_hit", _NOBODY, None, _LINE),
    "fill": External(__name__, "mcusim_outside_fill", _NOBODY, None, _LINE),
    "victim": External(__name__, "mcusim_outside_victim", _NOBODY, CacheLine, (MemoryState, CacheState, int)),
}


def use(path: Path) -> None:
    """Compile the policy of a file, for this process. Raises UsageError for a file that has none, or that comes too
    late."""
    if library.is_loaded():
        raise UsageError(f"{path}: native code is loaded already: a policy has to be named before the first run")
    functions = _functions(path)
    library.load_apart("outside_policy", tuple(function.symbol for function in functions.values()))
    for name, function in functions.items():
        SLOT[name].address = library.address(function.symbol)


def _functions(path: Path) -> dict[str, NativeFunction]:
    try:
        specification: Any = spec_from_file_location(f"outside_policy.{path.stem}", path)
        module = module_from_spec(specification)
        specification.loader.exec_module(module)
    except (OSError, SyntaxError, ImportError, AttributeError) as error:
        raise UsageError(f"{path}: cannot be loaded as a replacement policy: {error}") from None
    functions = {}
    for name, slot in SLOT.items():
        function = getattr(module, name, None)
        if not isinstance(function, NativeFunction) or function.signature != (slot.parameters, slot.result):
            takes = ", ".join(kind.__name__ for kind in slot.parameters)
            back = getattr(slot.result, "__name__", "None")
            raise UsageError(f"{path}: a replacement policy has a native function {name}({takes}) -> {back}")
        functions[name] = function
    return functions
