"""Checks of a graph: indices, arity, types, shapes, order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcusim.errors import ModelError, UnsupportedError
from mcusim.model.graph import ITEM_BYTES, Graph, Operator, Tensor
from mcusim.model.operators import FUSED, LARGEST_WINDOW, OPERATORS, OperatorSpec, shown_type
from mcusim.model.shapes import check_shapes

BIASES = ("int64", "int32")  # of int16 activations
LEAST = -(2**15)
_NOTHING = "that nothing produces: it is no graph input, no constant and no operator's output"
FLOATS = ("float16", "float32", "float64")
_INTEGERS = "with full-integer post-training quantisation (int8 or uint8, with a representative data set)"


def check_graph(graph: Graph, source: str) -> None:
    """Raise ModelError, naming ``source``, the operator and the values, at the first rule the graph breaks."""
    check_structure(graph, source)
    for op, error in refusals(graph):
        raise type(error)(f"{source}: operator {op.index} {op.type}: {error}")


def refusals(graph: Graph) -> Iterator[tuple[Operator, ModelError]]:
    """Operators that nothing here runs, each with the first rule that it breaks."""
    made = {i for op in graph.operators for i in op.outputs}.union(graph.inputs)
    for op in graph.operators:
        try:
            _sources(graph, op, made)
            _operator(graph, op)
        except ModelError as error:
            yield op, error


def fits_its_operands(graph: Graph, op: Operator) -> bool:
    """Whether number and shapes of an operator's operands are as its type has them, whatever their types."""
    spec = OPERATORS.get(op.type)
    if spec is None:
        return False
    try:
        inputs = _operands(graph, op, spec)
        _constants(op, inputs, spec)
        check_shapes(spec.rule, inputs, op.options, [graph.tensors[i].shape for i in op.outputs])
    except (ModelError, IndexError, ValueError):
        return False
    return True


def check_structure(graph: Graph, source: str) -> None:
    """Raise ModelError where the graph contradicts itself: tensors that do not exist, operators that read what is not
    there yet. No rule of an operator is asked."""
    if not graph.operators:
        raise ModelError(f"{source}: has no operators")
    _ends(graph, source)
    ready = set(graph.inputs)
    ready |= {t.index for t in graph.tensors if t.variable}
    producers = {i: op.index for op in reversed(graph.operators) for i in op.outputs}
    for op in graph.operators:
        where = f"{source}: operator {op.index} {op.type}"
        try:
            _indices(graph, op)
            _order(graph, op, ready, producers)
        except ModelError as error:
            raise type(error)(f"{where}: {error}") from None
        ready.update(op.outputs)
    late = [i for i in graph.outputs if i not in ready]
    if late:
        name = graph.tensors[late[0]].name
        raise ModelError(f"{source}: no operator produces the graph's output tensor {late[0]} '{name}'")


def _ends(graph: Graph, source: str) -> None:
    for what, indices in (("input", graph.inputs), ("output", graph.outputs)):
        if not indices:
            raise ModelError(f"{source}: the graph has no {what}")
        for i in indices:
            if not 0 <= i < len(graph.tensors):
                raise ModelError(f"{source}: graph {what} {i} does not exist, there are {len(graph.tensors)} tensors")
            if graph.tensors[i].variable:
                raise ModelError(f"{source}: graph {what} '{graph.tensors[i].name}' is a variable (state)")
    for i in graph.inputs:
        if graph.tensors[i].constant or not graph.tensors[i].elements:
            raise ModelError(f"{source}: graph input '{graph.tensors[i].name}' is a constant or empty")


def _indices(graph: Graph, op: Operator) -> None:
    count = len(graph.tensors)
    bad = [i for i in op.inputs if not -1 <= i < count] + [i for i in op.outputs if not 0 <= i < count]
    if bad:
        raise ModelError(f"tensor {bad[0]} does not exist, there are {count} tensors")
    if not op.outputs:
        raise ModelError("it has no output")
    empty = [i for i in (*op.inputs, *op.outputs) if i >= 0 and not graph.tensors[i].elements]
    if empty:
        raise ModelError(f"tensor {empty[0]} '{graph.tensors[empty[0]].name}' has no elements")


def _order(graph: Graph, op: Operator, ready: set[int], producers: Mapping[int, int]) -> None:
    for i in op.inputs:
        scratch = i not in producers and shown_type(op.type).startswith("CUSTOM(")  # of an accelerator
        if i >= 0 and i not in ready and not graph.tensors[i].constant and not scratch:
            raise ModelError(f"reads tensor {i} '{graph.tensors[i].name}' {_too_early(graph, op, producers.get(i))}")
    for i in op.outputs:
        if op.traits.copies_state and graph.tensors[i].variable:
            continue
        if i in ready or graph.tensors[i].constant:
            what = "a graph input" if i in graph.inputs else f"the output of operator {producers.get(i)}"
            what = "a constant" if graph.tensors[i].constant else what
            what = "a variable (state)" if graph.tensors[i].variable else what
            raise ModelError(f"writes tensor {i} '{graph.tensors[i].name}', which is already there: {what}")
    if len(set(op.outputs)) < len(op.outputs):
        raise ModelError(f"writes a tensor twice: outputs {list(op.outputs)}")


def _sources(graph: Graph, op: Operator, made: set[int]) -> None:
    """What an operator reads is a constant, an input of the graph or what an operator has made; or the state of one."""
    for i in op.inputs:
        tensor = graph.tensors[i] if i >= 0 else None
        if tensor is None or tensor.constant or (i in made and not tensor.variable):
            continue
        what = f"reads tensor {i} '{tensor.name}'"
        if not tensor.variable:
            raise ModelError(f"{what} {_NOTHING}")
        if not op.traits.stateful:
            raise ModelError(f"{what}, a variable (state), as data")


def _too_early(graph: Graph, op: Operator, producer: int | None) -> str:
    """Why a tensor that operator ``producer`` writes is not there when ``op`` runs."""
    if producer is None:
        return _NOTHING
    if producer == op.index:
        return "before anything produces it: it is its own output"
    known, todo = {producer}, [producer]  # does the producer need this operator
    writers = {i: operator.index for operator in graph.operators for i in operator.outputs}
    while todo and op.index not in known:
        needs = {writers[i] for i in graph.operators[todo.pop()].inputs if i in writers} - known
        known |= needs
        todo += needs
    if op.index in known:
        return f"that operator {producer} produces, which needs this operator's result: a cycle"
    return f"before operator {producer} produces it; operators must be in an order in which they can run"


def _operator(graph: Graph, op: Operator) -> None:
    spec = OPERATORS.get(op.type)
    if spec is None:
        return
    inputs, outputs = _operands(graph, op, spec), [graph.tensors[i] for i in op.outputs]
    for tensor in (*inputs, *outputs):
        if tensor.dtype not in ITEM_BYTES or tensor.stored_bytes is not None:
            if _is_packed_filter(op, inputs, tensor):
                continue
            form = tensor.dtype if tensor.dtype not in ITEM_BYTES else "stored sparse"
            raise UnsupportedError(f"'{tensor.name}' is {form}, which no kernel here takes")
    _constants(op, inputs, spec)
    _types(op, inputs, outputs)
    _fused(op, spec)
    _scales(op, inputs, outputs)
    check_shapes(spec.rule, inputs, op.options, [t.shape for t in outputs])
    window = max(inputs[1].shape[1:3]) if op.traits.parametric and len(inputs[1].shape) == 4 else 1
    if window > LARGEST_WINDOW:
        raise ModelError(f"a window of {window:,} is larger than {LARGEST_WINDOW:,}")


def _is_packed_filter(op: Operator, inputs: list[Tensor], tensor: Tensor) -> bool:
    """Of int4, two a byte."""
    packed = tensor.dtype == "int4" and tensor.stored_bytes == (tensor.elements + 1) // 2
    return packed and op.traits.parametric and not op.traits.transposed and tensor is inputs[1]


def _packed(op: Operator, weights: Tensor, data: list[Tensor]) -> None:
    """What goes with a filter of int4, as in TensorFlow Lite Micro."""
    other = next((tensor for tensor in data if tensor.dtype != "int8"), None)
    if other is not None:
        raise UnsupportedError(f"'{other.name}' is {other.dtype}; filters of int4 go with int8 activations")
    count = 1 if weights.quantization is None else len(weights.quantization.scales)
    if count > 1 and not op.traits.per_channel:
        raise UnsupportedError(f"'{weights.name}' is int4 with {count} scales; of FULLY_CONNECTED it has to have one")


def _operands(graph: Graph, op: Operator, spec: OperatorSpec) -> list[Tensor]:
    """The inputs without an omitted last one (a bias)."""
    indices = op.inputs[:-1] if op.inputs[-1:] == (-1,) else op.inputs
    extra = [p for p in spec.omitted if p < len(op.inputs) and op.inputs[p] >= 0]
    if extra:
        raise UnsupportedError(f"has an input {extra[0]}; the plain form without it is supported")
    if spec.omitted:
        indices = tuple(t for p, t in enumerate(op.inputs) if p not in spec.omitted)
    fewest, most = spec.inputs
    if not fewest <= len(indices) <= most or -1 in indices:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise ModelError(f"has the inputs {list(op.inputs)}; {wanted} are needed")
    return [graph.tensors[i] for i in indices]


def _constants(op: Operator, inputs: list[Tensor], spec: OperatorSpec) -> None:
    for position in spec.constants:
        if position < len(inputs) and not inputs[position].constant:
            raise UnsupportedError(f"input {position} '{inputs[position].name}' is computed at run time")
    if all(t.constant for t in inputs):
        raise UnsupportedError("all its inputs are constants; fold them when converting")


def _scales(op: Operator, inputs: list[Tensor], outputs: list[Tensor]) -> None:
    """Negative ones where LiteRT and TFLM compute with them: int8 filters with a scale for each channel, and the biases
    that go with them. All others they refuse, stop at, or read as something else than the file says."""
    filters = inputs[1:2] if op.traits.per_channel and inputs[1].dtype in ("int8", "int4") else []
    allowed = {t.index for t in (*filters, *(inputs[op.traits.bias_input :] if op.traits.parametric else ()))}
    for tensor in (*inputs, *outputs):
        quantization = tensor.quantization
        if quantization is not None and min(quantization.scales) < 0 and tensor.index not in allowed:
            raise ModelError(
                f"'{tensor.name}' has the negative scale {min(quantization.scales):g}; only int8 filters of"
                " convolutions, and"
                " biases, may have one: convert the model again"
            )


def _types(op: Operator, inputs: list[Tensor], outputs: list[Tensor]) -> None:
    traits = op.traits
    for position in traits.indices:
        if inputs[position].dtype != "int32":
            raise UnsupportedError(
                f"indices '{inputs[position].name}' are {inputs[position].dtype}; int32 is supported"
            )
    if traits.output_types:
        for tensor in outputs:
            if tensor.dtype not in traits.output_types:
                raise ModelError(f"'{tensor.name}' is {tensor.dtype}; it has to be {' or '.join(traits.output_types)}")
        outputs = []
    read = [t for i, t in enumerate(inputs[:1] if traits.keeps_state else inputs) if i not in traits.indices]
    data = [t for t in read if traits.constants_are_data or not t.constant] + outputs
    filters = inputs[1 : 1 + traits.parametric]
    if filters and filters[0].dtype == "int4":
        _packed(op, filters[0], data)
        filters = []
    data, allowed = [*data, *filters], traits.types
    for tensor in data:
        _type(tensor, allowed, op.traits.casts or op.traits.widens)
    widened = op.traits.widens and [t.dtype for t in data] == ["int8", "int16"]
    if op.traits.parametric and data[0].dtype in FLOATS:
        _of_floats(op, inputs, data)
    elif op.traits.parametric and data[0].dtype == "int16":
        _wide(op, inputs, data)
    elif len({t.dtype for t in data if not op.traits.casts}) > 1 and not widened:
        raise ModelError(f"mixes the types {', '.join(t.dtype for t in data)}")


def _fused(op: Operator, spec: OperatorSpec) -> None:
    """An LSTM's kernel has its own activation; all others apply limits alone."""
    activation = op.options.get("activation", "NONE")
    if "activation" in spec.fields and not op.traits.gates and activation not in FUSED:
        raise UnsupportedError(
            f"the fused activation {activation} is applied by no kernel (nor by TensorFlow Lite Micro's): make it an"
            " operator of its own"
        )


def _type(tensor: Tensor, allowed: tuple[str, ...], from_least: bool) -> None:
    if tensor.dtype not in allowed:
        hint = _conversion(allowed) if tensor.dtype in FLOATS and "int8" in allowed else ""
        verb = "are" if len(allowed) > 1 else "is"
        raise UnsupportedError(f"'{tensor.name}' is {tensor.dtype}; {_listed(allowed)} {verb} supported{hint}")
    quantization = tensor.quantization
    points = (0, LEAST) if from_least else (0,)
    if tensor.dtype == "int16" and quantization is not None and not set(quantization.zero_points) <= set(points):
        raise UnsupportedError(
            f"'{tensor.name}' is int16 with the zero point {quantization.zero_points[0]}; it has to be 0"
        )


def _conversion(allowed: tuple[str, ...]) -> str:
    """What helps a tensor of floats that is none of ``allowed``."""
    return f": convert the model {'with float32, or ' if 'float32' in allowed else ''}{_INTEGERS}"


def _of_floats(op: Operator, inputs: list[Tensor], data: list[Tensor]) -> None:
    """A convolution of floats has filters and biases of floats; those of int8 are of dynamic range."""
    *activations, filters = data
    both = (filters, *activations, *inputs[op.traits.bias_input :])
    other = next((t for t in both if t.dtype != "float32"), None)
    if other is not None:
        form = " (dynamic range)" if other is filters and other.dtype == "int8" else ""
        raise ModelError(
            f"'{other.name}' is {other.dtype} with activations of floats{form}: convert the model with floats"
            " alone, or with full-integer post-training quantisation"
        )


def _wide(op: Operator, inputs: list[Tensor], data: list[Tensor]) -> None:
    """Types of a convolution of int16 activations: filters of int8, biases of int32 or int64."""
    text = ", ".join(t.dtype for t in data)
    if {t.dtype for t in data[:-1]} != {"int16"} or data[-1].dtype != "int8":
        raise ModelError(f"mixes the types {text}; int16 activations take filters of int8")
    for bias in inputs[op.traits.bias_input :]:
        if bias.dtype not in BIASES[: 1 if op.traits.depthwise or op.traits.transposed else 2]:  # as TFLite's kernels
            raise UnsupportedError(f"bias '{bias.name}' is {bias.dtype}; int16 activations take biases of int64")


def _listed(names: tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
