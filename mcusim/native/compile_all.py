"""Compiling all that Python and Unicorn call, ahead of the first use: ``python -m mcusim.native``.

Not modelled: what only a test calls directly; that is compiled at its first call like everything.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from typing import Any

from mcusim.native.call_graph import called
from mcusim.native.compile import COMPILED, Callback, Native, Shared
from mcusim.native.stale_code import PACKAGE, SOURCES
from mcusim.processes import deaf, pool

# called from Python, and by other native functions too; what no native function calls needs no mention
ALSO = (
    "mcusim.cpu.hooks.blocks.slot_of",
    "mcusim.memory.dma.arbitration.mark_shared",
    "mcusim.memory.ports.core_code.fetch",
    "mcusim.memory.range_lookup.find",
)


def _load() -> None:
    """Import every module that has native functions."""
    for folder in SOURCES:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            if "mcusim.native.compile" in path.read_text(encoding="utf-8"):
                parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
                import_module(".".join(parts).removesuffix(".__init__"))


def entries() -> list[Native | Callback]:
    """The native functions that are called from outside, of the whole package; what others share comes first."""
    _load()
    inner = {id(other) for item in COMPILED for other in called(item.py_func, Native) if other is not item}
    wanted = [item for item in COMPILED if isinstance(item, Shared) or id(item) not in inner or _name(item) in ALSO]
    return sorted(wanted, key=lambda item: not isinstance(item, Shared))


def _name(item: Native | Callback) -> str:
    return f"{item.py_func.__module__}.{item.py_func.__qualname__}"


def warm(step: Callable[[int, int], object] = lambda done, count: None, jobs: int = 1) -> int:
    """Compile what is not on disk yet, in ``jobs`` processes; ``step`` gets how many functions are ready, and of how
    many. Returns that. What is shared is ready before the functions with it are begun."""
    wanted = entries()
    split = sum(isinstance(item, Shared) for item in wanted)
    step(0, len(wanted))
    with ExitStack() as stack:
        run: Any = stack.enter_context(pool(jobs, "compiling", _load)).map if jobs > 1 else map
        done = 0
        for part in (wanted[:split], wanted[split:]):
            with deaf():
                ready = run(_prepare, map(_name, part))
            for _ in ready:
                done += 1
                step(done, len(wanted))
    return len(wanted)


def _prepare(name: str) -> None:
    next(item for item in COMPILED if _name(item) == name).prepare()
