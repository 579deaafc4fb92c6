"""Cache replacement: one file per policy, and here the native functions that ask the policy of a cache.

A policy's name in machine files is its file's, with ``-`` for ``_``; adding one is adding its file. It has three native
functions of the state array, a cache block ``c`` and the offset of a line's record:

- ``hit``: an access found its line in this record;
- ``fill``: the record has got another line;
- ``victim``: the record of the set that gets the next line, where ``record`` is the set's first: its first empty way
  (whose TAG and AGE are -1) if it has one.

They may use the AGE of the set's records, never negative in one that holds a line, and C_CLOCK and SEED. Not modelled:
policies that know what an access is (load, store, fetch) or prefer clean lines.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from mcusim.memory import state_layout as L
from mcusim.native.compile import inlined

__all__ = ["REPLACEMENTS", "fill", "hit", "victim"]

REPLACEMENTS = tuple(sorted(module.name.replace("_", "-") for module in iter_modules(__path__)))
_POLICIES = [import_module(f"{__name__}.{name.replace('-', '_')}") for name in REPLACEMENTS]


def _asking(function: str, result: str) -> Any:
    """The native function that calls ``function`` of the policy whose number is in the cache block.

    Native code calls functions that are known when it is compiled: so the choice is written out, one line a policy.
    """
    lines = [f"def {function}(s: State, c: int, record: int) -> {result}:", "    policy = s[c + C_REPLACE]"]
    for number in range(len(_POLICIES)):
        lines.append(f"    if policy == {number}: return {function}_{number}(s, c, record)")
    if result == "int":
        lines.append("    return record")
    names = {f"{function}_{number}": getattr(policy, function) for number, policy in enumerate(_POLICIES)}
    scope: dict[str, Any] = {"C_REPLACE": L.C_REPLACE, "__name__": __name__, **names}
    exec(compile("\n".join(lines), __file__, "exec"), scope)  # numba keeps compiled code next to that file
    return inlined(scope[function])


hit = _asking("hit", "None")
fill = _asking("fill", "None")
victim = _asking("victim", "int")
