"""An option or argument of a command in a line: ``ram: Annotated[str | None, option("SIZE", "RAM to fit.")]``."""

from __future__ import annotations

from typing import Any

import typer


def option(metavar: str, help_text: str, names: str = "", **limits: Any) -> Any:
    """An option with a value. ``names``: separated by spaces, by default that of the parameter or field; ``limits``:
    typer's ``min`` and ``max``."""
    return typer.Option(*names.split(), metavar=metavar, help=help_text, **limits)


def flag(names: str, help_text: str) -> Any:
    """An option without a value, as ``--force`` or ``--in-place/--no-in-place``."""
    return typer.Option(*names.split(), help=help_text)


def argument(metavar: str, help_text: str) -> Any:
    """What stands without a name."""
    return typer.Argument(metavar=metavar, help=help_text)
