"""What ``mcusim generate`` wrote, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcusim.text import columns, counted, wrapped

if TYPE_CHECKING:
    from mcusim.codegen.generated import Generated


def generate_json(generated: Generated, folder: str) -> dict[str, Any]:
    """``model folder kernels machine core operators functions files``, and bytes: ``array weights tables code
    flash`` (the last three together); ``over``: what of it the machine has no room for, in words.

    Not modelled: the generated calls' own code, some 12 bytes an operator.
    """
    return {
        "model": generated.model,
        "folder": folder,
        "kernels": generated.kernels,
        "machine": generated.machine.name,
        "core": generated.machine.core.isa,
        "operators": generated.operators,
        "functions": list(generated.functions),
        "array": generated.array,
        "weights": generated.weights,
        "tables": generated.tables,
        "code": generated.code,
        "flash": generated.flash,
        "over": list(generated.over),
        "files": {location: len(data) for location, data in generated.files.items()},
    }


def generate_table(generated: Generated, folder: str) -> str:
    """The text that ``mcusim generate`` prints."""
    kernels = f"{counted(len(generated.functions), 'kernel')} of {generated.kernels} and what they call"
    rows = [
        ["array", "RAM", "activations, scratch, state", f"{generated.array:,} B"],
        ["weights", "flash", "filters, biases, other constants", f"{generated.weights:,} B"],
        ["tables", "flash", "multipliers, shifts, call structures", f"{generated.tables:,} B"],
        ["code", "flash", kernels, f"{generated.code:,} B"],
    ]
    lines = [f"{generated.model} -> {folder}", "", *columns(rows, left=3), ""]
    if generated.over:
        lines += [*wrapped(f"does not fit {generated.machine.name}: needs {', '.join(generated.over)}"), ""]
    operators = counted(generated.operators, "operator")
    make = "`make` there stops at linking, `make lib` and `make host` do not" if generated.over else ""
    lines.append(f"{operators}, {len(generated.files)} files; {make or '`make` there builds a program'}")
    return "\n".join(lines)
