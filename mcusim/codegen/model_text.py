"""``model.h`` and ``model.c``: a model's functions, its array, its parameters and the calls of its kernels.

Not modelled: several models in one file.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.codegen.c_text import array_text, comment
from mcusim.codegen.memory import C_TYPES, Constant, Memory
from mcusim.codegen.nodes import Node
from mcusim.errors import UnsupportedError
from mcusim.model.graph import Graph, initial_values

COPIES = """#include <stddef.h>
void *memcpy(void *restrict to, const void *restrict from, size_t size);"""
MADE = "Written by mcusim generate; the array and all calls are those of one model."


def ends_type(graph: Graph, tensors: Sequence[int]) -> str:
    """What pointers to inputs or outputs point to: their type, or void where they differ. Raises UnsupportedError for a
    type that C has no name for, and for an end that is a constant."""
    types = set()
    for t in tensors:
        tensor = graph.tensors[t]
        if tensor.constant or tensor.dtype not in C_TYPES:
            why = "is a constant" if tensor.constant else f"is of {tensor.dtype}"
            raise UnsupportedError(f"cannot generate {graph.name}: input or output '{tensor.name[:80]}' {why}")
        types.add(C_TYPES[tensor.dtype])
    return types.pop() if len(types) == 1 else "void"


def header_text(graph: Graph) -> str:
    """The header: three functions, one more where there is state, and sizes of the ends."""
    lines = [
        f"/* {comment(graph.name)}. {MADE} */",
        "#ifndef MODEL_H",
        "#define MODEL_H",
        "#include <stdint.h>",
        "",
    ]
    for kind, tensors in (("INPUT", graph.inputs), ("OUTPUT", graph.outputs)):
        lines.append(f"#define MCUSIM_{kind}S {len(tensors)}")
        for i, t in enumerate(tensors):
            tensor = graph.tensors[t]
            shape = " x ".join(map(str, tensor.shape)) or "one"
            text = f"{tensor.dtype}, {shape}: {tensor.name}"
            lines.append(f"#define MCUSIM_{kind}{i}_BYTES {tensor.bytes} /* {comment(text)} */")
        lines.append("")
    source, target = ends_type(graph, graph.inputs), ends_type(graph, graph.outputs)
    lines += [
        "/* Where input i is to be put before each call of invoke, which may write over it; 0 where there is none. */",
        f"{source} *mcusim_input(int i);",
        "/* Where output i is after a call of invoke, until inputs are put in for the next one. */",
        f"const {target} *mcusim_output(int i);",
        "/* One inference; 0, or what the kernel that failed returned. */",
        "int mcusim_invoke(void);",
    ]
    if any(t.variable and t.bytes for t in graph.tensors):
        lines += ["/* State as it is before the first inference; call it before that. */", "void mcusim_reset(void);"]
    return "\n".join([*lines, "#endif", ""])


def source_text(graph: Graph, memory: Memory, nodes: Sequence[Node]) -> str:
    """The source; ``nodes`` are those of the operators, in their order."""
    resets = _reset(graph, memory)
    head = [f"/* {comment(graph.name)}. {MADE} */", '#include "model.h"', '#include "kernels.h"']
    head += [COPIES] if resets else []
    head += ["", *_prototypes(nodes), ""] if nodes else [""]
    size = max(memory.size, 1)
    head.append("/* Activations, scratch of the kernels, state: at the places that the code below names. */")
    head.append(f"static uint8_t array[{size}] __attribute__((aligned(16)));\n")
    parts = ["\n".join(head), *(array_text(constant) + "\n" for constant in memory.constants)]
    for op, node in zip(graph.operators, nodes, strict=True):
        parts.append(f"/* {op.index}: {comment(_said(graph, op.type, op.outputs))} */\n{node.text}\n")
    parts += [_ends("input", graph, graph.inputs, memory), _ends("output", graph, graph.outputs, memory)]
    return "".join(parts) + _invoke(nodes) + resets


def _said(graph: Graph, kind: str, outputs: Sequence[int]) -> str:
    made = graph.tensors[outputs[0]]
    return f"{kind} to {' x '.join(map(str, made.shape)) or 'scalar'} {made.dtype}"


def _prototypes(nodes: Sequence[Node]) -> list[str]:
    return sorted({f"int32_t {node.symbol}(const struct {node.layout} *call);" for node in nodes})


def _ends(kind: str, graph: Graph, tensors: Sequence[int], memory: Memory) -> str:
    own = ends_type(graph, tensors)
    constant = "const " if kind == "output" else ""
    lines = [f"{constant}{own} *mcusim_{kind}(int i)", "{"]
    cast = {"uint8_t": "", "void": ""}.get(own, f"({own} *)(void *)")
    if not tensors:
        lines.append("    (void)i;")
    for i, t in enumerate(tensors):
        location = f"(array + {memory.tensors[t]})" if cast else f"array + {memory.tensors[t]}"
        lines.append(f"    if (i == {i}) return {cast}{location};")
    return "\n".join([*lines, "    return 0;", "}", "", ""])


def _invoke(nodes: Sequence[Node]) -> str:
    lines = ["int mcusim_invoke(void)", "{"]
    calls = [f"{node.symbol}(&{name})" for node in nodes for name in node.names]
    if calls:
        lines.append("    int32_t error;")
        lines += [f"    if ((error = {call}) != 0) return (int)error;" for call in calls]
    return "\n".join([*lines, "    return 0;", "}", ""])


def _reset(graph: Graph, memory: Memory) -> str:
    """The function that puts the initial values into the variables; '' without any."""
    before, lines = "", []
    for t, offset in memory.state.items():
        tensor = graph.tensors[t]
        values = initial_values(tensor)
        data = values.tobytes()
        if len(set(data)) == 1:
            lines.append(f"    for (int i = 0; i < {len(data)}; i++) array[{offset} + i] = {data[0]};")
        else:
            before += "\n" + array_text(Constant(f"initial{t}", values.reshape(-1)))
            lines.append(f"    memcpy(array + {offset}, initial{t}, {len(data)});")
    if not lines:
        return ""
    return before + "\n" + "\n".join(["void mcusim_reset(void)", "{", *lines, "}", ""])
