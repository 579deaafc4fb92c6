"""Compiling all that Python and Unicorn call, ahead of the first use: ``python -m mcusim.native``.

Not modelled: what only a test calls directly; that is compiled at its first call like everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from types import CodeType, ModuleType
from typing import Any

from mcusim.native.compile import COMPILED, Callback, Native
from mcusim.native.stale_code import PACKAGE, SOURCES

__all__ = ["entries", "warm"]

# called from Python, and by other native functions too; what no native function calls needs no mention
ALSO = (
    "mcusim.cpu.hooks.blocks.slot_of",
    "mcusim.memory.dma.arbitration.advance",
    "mcusim.memory.dma.arbitration.mark_shared",
    "mcusim.memory.ports.core_code.fetch",
    "mcusim.memory.range_lookup.find",
)


def _load() -> None:
    """Import every module that has native functions."""
    for folder in SOURCES:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            if "import" in (text := path.read_text(encoding="utf-8")) and "mcusim.native.compile" in text:
                parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
                import_module(".".join(parts).removesuffix(".__init__"))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _called(function: Any) -> Iterator[Native]:
    """The native functions that ``function`` names, in its module or in modules that it names."""
    known = function.__globals__
    names = set(_names(function.__code__))
    modules = [known[name] for name in names if isinstance(known.get(name), ModuleType)]
    for name in names:
        found = [known.get(name), *(getattr(module, name, None) for module in modules)]
        yield from (one for one in found if isinstance(one, Native))


def entries() -> list[Native | Callback]:
    """The native functions that are called from outside, of the whole package."""
    _load()
    inner = {id(other) for one in COMPILED for other in _called(one.py_func) if other is not one}
    return [one for one in COMPILED if id(one) not in inner or _name(one) in ALSO]


def _name(one: Native | Callback) -> str:
    return f"{one.py_func.__module__}.{one.py_func.__qualname__}"


def warm(step: Callable[[int, int], object] = lambda done, count: None) -> int:
    """Compile what is not on disk yet; ``step`` gets how many functions are ready, and of how many. Returns that."""
    wanted = entries()
    for done, one in enumerate(wanted):
        step(done, len(wanted))
        one.prepare()
    step(len(wanted), len(wanted))
    return len(wanted)
