"""Cache replacement: one file per policy, and here the native functions that ask the policy of a cache.

A policy's name in machine files is its file's, with ``-`` for ``_``; adding one is adding its file. It has three native
functions of the memory system, a cache and one of its lines:

- ``hit``: an access found what it looked for in this line;
- ``fill``: the line has got another one's bytes;
- ``victim``: the line of the set that goes next, where ``first`` is the index of the set's first: its first empty way
  (whose ``tag`` and ``age`` are -1) if it has one.

They may use the ``age`` of the set's lines, never negative in one that holds bytes, ``cache.clock`` and
``memory.seed``. One may come from outside the package too (:mod:`mcusim.memory.cache.outside_policy`).

Not modelled: policies that know what an access is (load, store, fetch) or prefer clean lines.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from mcusim.memory.cache.outside_policy import OUTSIDE, SLOT
from mcusim.memory.state_layout import CacheLine, CacheState, MemoryState
from mcusim.native.functions import inlined

__all__ = ["REPLACEMENTS", "fill", "hit", "victim"]

REPLACEMENTS = tuple(sorted(module.name.replace("_", "-") for module in iter_modules(__path__)))
_POLICIES = [import_module(f"{__name__}.{name.replace('-', '_')}") for name in REPLACEMENTS]


def _asking(function: str, argument: str, result: str) -> Any:
    """The native function that calls ``function`` of the policy whose number is in the cache block.

    Native code calls functions that are known when it is compiled: so the choice is written out, one line a policy.
    """
    lines = [f"def {function}(memory: MemoryState, cache: CacheState, line: {argument}) -> {result}:"]
    for number in range(len(_POLICIES)):
        lines.append(f"    if cache.replacement == {number}: return {function}_{number}(memory, cache, line)")
    lines.append(f"    if cache.replacement >= {OUTSIDE}: return outside(memory, cache, line)")
    if result == "CacheLine":
        lines.append("    return cache.lines[line]")
    names = {f"{function}_{number}": getattr(policy, function) for number, policy in enumerate(_POLICIES)}
    scope: dict[str, Any] = {
        "CacheState": CacheState,
        "CacheLine": CacheLine,
        "MemoryState": MemoryState,
        "__name__": __name__,
        "outside": SLOT[function],
        **names,
    }
    exec(compile("\n".join(lines), __file__, "exec"), scope)
    return inlined(scope[function])


hit: Callable[[MemoryState, CacheState, CacheLine], None] = _asking("hit", "CacheLine", "None")
fill: Callable[[MemoryState, CacheState, CacheLine], None] = _asking("fill", "CacheLine", "None")
victim: Callable[[MemoryState, CacheState, int], CacheLine] = _asking("victim", "int", "CacheLine")
