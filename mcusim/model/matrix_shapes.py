"""Shape rule and loop nest of BATCH_MATMUL: matrices, each of a batch, are multiplied.

The nest has the rows of the left matrix in ``h``, its columns in ``in_c``, those of the right one in ``out_c``;
``stride_h`` is 2 where the left side is stored by columns, ``stride_w`` 2 where the right one is stored by rows: a
kernel reads the left by rows and the right by columns, and transposes a side that is not stored so; 3 where the right
one is a constant, which is transposed before the network runs.
"""

from __future__ import annotations

from math import prod

from mcusim.errors import ModelError
from mcusim.model.graph import Graph, Operator
from mcusim.model.shape_checks import Inputs, Options, Shape

RANKS = range(2, 6)


def sides(inputs: Inputs, options: Options) -> tuple[Shape, Shape]:
    """Both shapes with the left matrices as rows x depth, the right ones as depth x columns, of one rank."""
    shapes = []
    for tensor, other in ((inputs[0], options["adj_x"]), (inputs[1], options["adj_y"])):
        if len(tensor.shape) not in RANKS:
            raise ModelError(f"'{tensor.name}' has {len(tensor.shape)} dimensions; 2 to 5 are needed")
        matrix = tensor.shape[-2:]
        shapes.append((*tensor.shape[:-2], *(matrix[::-1] if other else matrix)))
    rank = max(map(len, shapes))
    left, right = ((1,) * (rank - len(shape)) + shape for shape in shapes)
    return left, right


def batch_matmul(inputs: Inputs, options: Options) -> list[Shape]:
    left, right = sides(inputs, options)
    batches = list(zip(left[:-2], right[:-2], strict=True))
    if left[-1] != right[-2] or any(a != b and 1 not in (a, b) for a, b in batches):
        raise ModelError(f"matrices of {list(inputs[0].shape)} and {list(inputs[1].shape)} cannot be multiplied")
    return [(*(max(a, b) for a, b in batches), left[-2], right[-1])]


def batch_matmul_nest(graph: Graph, op: Operator) -> dict[str, int]:
    operands, target = [graph.tensors[t] for t in op.inputs], graph.tensors[op.outputs[0]].shape
    left, right = sides(operands, op.options)
    sizes = {"batch": prod(target[:-2]), "in_h": left[-2], "in_w": 1, "in_c": left[-1]}
    sizes |= {"out_h": left[-2], "out_w": 1, "out_c": right[-1]}
    turned = 1 if op.options["adj_y"] else 3 if operands[1].constant else 2
    return sizes | {"stride_h": 1 + bool(op.options["adj_x"]), "stride_w": turned}


def copied_sides(graph: Graph, op: Operator) -> tuple[bool, bool]:
    """Whether there is a transposed copy of the left side, and of the right one."""
    return bool(op.options["adj_x"]), not op.options["adj_y"]


def copies_bytes(graph: Graph, op: Operator) -> int:
    """Bytes of the transposed copies."""
    return sum(graph.tensors[t].bytes for t, has in zip(op.inputs, copied_sides(graph, op), strict=True) if has)


def copied_constants(graph: Graph) -> str:
    """What transposed copies of constants take in RAM, in words; empty for none."""
    matmuls = [op for op in graph.operators if op.traits.multiplies and copied_sides(graph, op)[1]]
    copied = {op.index: graph.tensors[op.inputs[1]].bytes for op in matmuls if graph.tensors[op.inputs[1]].constant}
    if not copied:
        return ""
    return (
        f"BATCH_MATMUL (operator{'s' * (len(copied) > 1)} {', '.join(map(str, copied))}) keeps transposed copies of its"
        f" constants in RAM, {sum(copied.values()):,} B: stored by columns (adj_y) they would stay in flash"
    )
