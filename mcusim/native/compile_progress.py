"""Who hears that native code is being compiled, or cannot be kept.

Imports nothing heavy: a command asks before numba is loaded."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str | None], object]] = []
_warners: list[Callable[[str], object]] = []


def on_compile(listener: Callable[[str | None], object] | None, warner: Callable[[str], object] | None = None) -> None:
    """``listener`` is called with what is compiled as that begins, and with None as it ends; ``warner`` with a line
    when the result cannot be kept.

    They take the place of those before; None: nobody listens any more, and the line is a RuntimeWarning.
    """
    _listeners[:] = [] if listener is None else [listener]
    _warners[:] = [] if warner is None else [warner]


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """``what`` is compiled in this block."""
    for listener in _listeners:
        listener(what)
    try:
        yield
    finally:
        for listener in _listeners:
            listener(None)


def not_kept(reason: str) -> None:
    """Native code cannot be stored: it is compiled again by the next process that needs it."""
    text = f"native code cannot be kept, and is compiled again at the next start: {reason}"
    if not _warners:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    for warner in _warners:
        warner(text)
