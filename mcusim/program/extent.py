"""Checks that a kernel call's operands are as large as its geometry says it reads and writes."""

from __future__ import annotations

from collections.abc import Iterator

from mcusim.model.geometry import PACKED, Geometry
from mcusim.model.operators import is_opaque
from mcusim.program.field_readers import FieldError
from mcusim.program.program import Compute, Role

LONGEST = 1 << 16  # rows or columns of a tensor
POSITIONS = 1 << 22  # kernel rows (columns) x output rows (columns)


def check_extent(task: Compute) -> None:
    """Raise FieldError for a window that leaves its input, or for an operand too short for the rows of the task.

    Bytes are checked from below, over all operands of a role (SPLIT has several outputs), of a CONCATENATION over all
    inputs together; types without a kernel window count one byte an element, since their inputs and outputs may differ
    in type. Not modelled: further inputs of other types (``input1``, ``inputN``) and the first of element-wise types
    and BATCH_MATMUL, which broadcasting may shorten, and the size of scratch.
    """
    g, rows = task.geometry, task.rows
    if max(g.in_h, g.in_w, g.out_h, g.out_w) > LONGEST:
        raise FieldError(f"geometry has more than {LONGEST:,} rows or columns")
    if g.traits.multiplies and (g.kernel_h, g.kernel_w, g.in_h) != (1, 1, g.out_h):
        raise FieldError("matrices have as many rows as their product, and no window")
    if g.traits.multiplies and not (g.stride_h in (1, 2) and g.stride_w in (1, 2, 3)):
        raise FieldError(f"stride [{g.stride_h}, {g.stride_w}] of matrices: is 1 or 2, and 1 to 3")
    if rows.out_rows < 1:
        raise FieldError("rows computes no output row")
    if _has_window(g):
        _window("rows", g.in_h, g.out_h, g.kernel_h, g.stride_h, g.dilation_h, g.pad_top, g.pad_bottom)
        _window("columns", g.in_w, g.out_w, g.kernel_w, g.stride_w, g.dilation_w, g.pad_left, g.pad_right)
    for _, need, text in shortages(task):
        raise FieldError(f"{text}, its geometry and rows need {need:,} B")


def shortages(task: Compute) -> Iterator[tuple[Role, int, str]]:
    """The roles whose operands are too short: role, bytes needed, and what there is in words."""
    for role, need in needed_bytes(task).items():
        joined = role == "input0" and task.geometry.traits.joins
        of = [o for o in task.operands if o.role == role or (joined and o.role.startswith("input"))]
        given = sum(operand.span.bytes for operand in of)
        if of and given < need:
            yield role, need, f"its inputs have {given:,} B" if joined else f"operand {role} has {given:,} B"


def needed_bytes(task: Compute) -> dict[Role, int]:
    """The least bytes of the operands of each role that its geometry and rows need, as far as they say; where inputs
    are joined ``input0`` is all of them together. Nothing is known of opaque operators."""
    if is_opaque(task.geometry.type):
        return {}
    g, rows = task.geometry, task.rows
    item = g.item if _has_window(g) else 1
    needs: dict[Role, int] = {
        "input0": g.in_batch * rows.in_rows * g.in_w * g.in_c * item,
        "output": g.batch * rows.out_rows * g.out_w * g.out_c * item,
        "filter": _filter_bytes(g),
    }
    if g.traits.multiplies:  # one matrix at least of each side
        needs |= {"input0": g.in_h * g.in_c * g.item, "input1": g.in_c * g.out_c * g.item}
    elif g.traits.broadcast:
        del needs["input0"]
    if g.traits.joins:
        needs["input0"] = needs["output"]
    return needs


def steps(task: Compute) -> int:
    """Innermost loop steps of a kernel call (MACs, window elements, or elements)."""
    g = task.geometry
    if g.traits.transposed:
        return g.macs
    outputs = g.batch * task.rows.out_rows * g.out_w * g.out_c
    window = g.kernel_h * g.kernel_w if _has_window(g) else 1
    if g.traits.keeps_state or g.traits.multiplies:
        return max(g.macs, outputs)
    return outputs * window * (g.filter_c if g.traits.parametric and not g.traits.depthwise else 1)


def _filter_bytes(g: Geometry) -> int:
    """Bytes of a filter of int8, of int4, or of floats."""
    return (g.filter_elements + 1) // 2 if PACKED in g.types else g.filter_elements * (g.item if g.is_float else 1)


def _has_window(g: Geometry) -> bool:
    """A fully connected layer is a window of one element."""
    return g.traits.windowed or (g.traits.parametric and not g.traits.transposed)


def _window(what: str, size: int, out: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> None:
    reach = (kernel - 1) * dilation + 1
    if max(before, after) >= max(reach, 2) or (out - 1) * stride + reach > size + before + after:
        raise FieldError(
            f"{out} output {what} of a window over {reach} do not come from {size} input {what} and padding"
        )
    if kernel * out > POSITIONS:
        raise FieldError(f"{out} output {what} of {kernel} kernel {what} each are more than {POSITIONS:,} positions")
