"""Custom operators that mcusim does not compute and whose cycles it knows: those of the interpreter's own code.

Not modelled: what ``custom_costs.toml`` says of it; other implementations of these operators.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from mcusim.model.operators import shown_type

BASIS = "emulated"


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("mcusim") / "model" / "custom_costs.toml").read_text("utf-8"))


def _table(kind: str) -> dict[str, Any]:
    return _tables().get(shown_type(kind).removeprefix("CUSTOM(").removesuffix(")"), {})


def is_priced(kind: str) -> bool:
    """Whether the cycles of an operator without an entry are known."""
    name = shown_type(kind)
    return name.startswith("CUSTOM(") and bool(_table(name))


def custom_cost(kind: str, isa: str) -> str | None:
    """Cycles of a call on a core, written as for ``--cost``; None where they are not known."""
    return _table(kind).get(isa) if is_priced(kind) else None


def cost_basis(kind: str) -> str:
    """Where the cycles of an operator that :func:`is_priced` come from."""
    return f"{BASIS} (TensorFlow Lite Micro's own code, {_table(kind)['source']})"
