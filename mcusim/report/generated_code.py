"""What ``mcusim generate`` wrote, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcusim.text import columns

if TYPE_CHECKING:
    from mcusim.codegen.generated import Generated

__all__ = ["generate_json", "generate_table"]


def generate_json(found: Generated, folder: str) -> dict[str, Any]:
    """``model folder kernels machine core operators functions files``, and bytes: ``array weights tables code
    flash`` (the last three together).

    Not modelled: the generated calls' own code, some 12 bytes an operator.
    """
    return {
        "model": found.model,
        "folder": folder,
        "kernels": found.kernels,
        "machine": found.machine.name,
        "core": found.machine.core.isa,
        "operators": found.operators,
        "functions": list(found.functions),
        "array": found.array,
        "weights": found.weights,
        "tables": found.tables,
        "code": found.code,
        "flash": found.flash,
        "files": {place: len(data) for place, data in found.files.items()},
    }


def generate_table(found: Generated, folder: str) -> str:
    """The text that ``mcusim generate`` prints."""
    kernels = f"{len(found.functions)} kernels of {found.kernels} and what they call"
    rows = [
        ["array", "RAM", "activations, scratch, state", f"{found.array:,} B"],
        ["weights", "flash", "filters, biases, other constants", f"{found.weights:,} B"],
        ["tables", "flash", "multipliers, shifts, call structures", f"{found.tables:,} B"],
        ["code", "flash", kernels, f"{found.code:,} B"],
    ]
    lines = [f"{found.model} -> {folder}", "", *columns(rows, left=3), ""]
    lines.append(f"{found.operators} operators, {len(found.files)} files; `make` there builds a program")
    return "\n".join(lines)
