"""Python that a user wrote: it may raise anything, and its values may do anything when they are spoken of.

Not modelled: code that ends the process by other means than an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mcusim.processes import TooLongError


@contextmanager
def reasons(
    shown: str, problem: Callable[[str], Exception], own: tuple[type[BaseException], ...] = ()
) -> Iterator[None]:
    """What a user's code raises becomes what ``problem`` makes of ``shown``, the type and the text, also what asks for
    the end of the process. A keyboard interrupt, the end of its time, and those of ``own`` go on as they are."""
    passed: tuple[type[BaseException], ...] = (KeyboardInterrupt, TooLongError, *own)
    try:
        yield
    except passed:
        raise
    except BaseException as error:  # whatever a user's code does
        text = short_text(error)
        raise problem(f"{shown}: {type(error).__name__[:80]}{': ' if text else ''}{text}") from None


def short_text(value: object) -> str:
    """One short line, of an object of a user's."""
    try:
        return " ".join(str(value).split())[:200].encode("utf-8", "backslashreplace").decode()
    except KeyboardInterrupt:
        raise
    except BaseException:  # it may raise anything
        return f"an object of type {type(value).__name__[:80]}"
