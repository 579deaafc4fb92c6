"""Who hears that native code is being compiled. Imports nothing heavy: a command asks before numba is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str | None], object]] = []


def on_compile(listener: Callable[[str | None], object] | None) -> None:
    """``listener`` is called with the name of each function as its compilation begins, and with None as it ends.

    It takes the place of the one before; None: nobody listens any more.
    """
    _listeners[:] = [] if listener is None else [listener]


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """The function ``name`` is compiled in this block."""
    for listener in _listeners:
        listener(name)
    try:
        yield
    finally:
        for listener in _listeners:
            listener(None)
