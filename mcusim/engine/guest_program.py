"""A program and its model as the emulated core finds them: the contents of memory before it starts, each call's
operands.

The program's header says where everything is at home: buffers ``tensor7``, ``multiplier3``, ``shift3``, ``node3`` (the
parameters of operator 3). Not modelled: programs of several models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mcusim.engine.program_checks import check_apart, check_model, check_whole
from mcusim.errors import ProgramError
from mcusim.kernels.calls import call_bytes as P
from mcusim.kernels.calls.filter_bytes import filter_bytes
from mcusim.kernels.calls.rescaling import parameters
from mcusim.kernels.kernel_set import Kernel, KernelSet
from mcusim.model.geometry import geometry, whole
from mcusim.model.graph import Graph, Operator, initial_values
from mcusim.plan.operand_roles import tensor_roles
from mcusim.program.program import Compute, Program, Span
from mcusim.runtime.runtime import recorded_runtime


class GuestProgram:
    """``program`` for ``graph`` with the functions of ``kernels``.

    Raises ProgramError when the program is not one of this model, UnsupportedError for an operator without a kernel.
    """

    def __init__(self, program: Program, graph: Graph, kernels: KernelSet) -> None:
        self.program, self.graph = program, graph
        self.buffers = {buffer.name: buffer.span for buffer in program.header.buffers}
        check_model(program, graph)
        self.kernels = [kernels.kernel(op.type, P.types(graph, op)) for op in graph.operators]
        runtime = recorded_runtime(program.header.options)
        if runtime.array is not None:  # straight calls
            shapes = [geometry(graph, op) for op in graph.operators]
            able = [kernel.without(runtime.left_out) for kernel in self.kernels]
            self.kernels = [kernel.called_for(g) for kernel, g in zip(able, shapes, strict=True)]
        for task in program.tasks:
            if isinstance(task, Compute):
                self._check(task)
        check_whole(program, graph)
        check_apart(program)

    def home(self, name: str, size: int) -> int:
        """Address of a buffer that the program must have. Raises ProgramError when it has none of that size."""
        span = self.buffers.get(name)
        if span is None or span.bytes < size:
            has = "has none" if span is None else f"gives it {span.bytes:,} B"
            raise ProgramError(
                f"fidelity emulate needs a buffer '{name}' of {size:,} B and the program {has};"
                " plan it for a kernel set or its profile (`mcusim kernels`)"
            )
        return span.address

    def constants(self) -> Iterator[tuple[int, bytes]]:
        """What lies in memory before the program starts: weights, multipliers and shifts, initial values of state."""
        yield from self.state()
        rearranged = self._rearranged()
        for index, tensor in enumerate(self.graph.tensors):
            if tensor.data is not None and f"tensor{index}" in self.buffers:
                data = rearranged.get(index) or tensor.data.tobytes()
                yield self.home(f"tensor{index}", len(data)), data
        for op, kernel in zip(self.graph.operators, self.kernels, strict=True):
            own = parameters(self.graph, op, kernel)
            if own is not None:
                for name, array in (("multiplier", own.multiplier), ("shift", own.shift)) if own.multiplier else ():
                    yield self.home(f"{name}{op.index}", len(array)), array

    def _rearranged(self) -> dict[int, bytes]:
        """By tensor, filters in the order of their kernel, and biases as it has them.

        Raises ProgramError for a filter that is read in two orders."""
        orders: dict[int, set[str]] = {}
        rearranged, biases = {}, {}
        for op, kernel in zip(self.graph.operators, self.kernels, strict=True):
            if op.traits.parametric:
                orders.setdefault(op.inputs[1], set()).add(kernel.filter_order)
                own = parameters(self.graph, op, kernel)
                if own is not None and own.bias is not None:
                    biases[op.inputs[op.traits.bias_input]] = own.bias
                if kernel.filter_order:
                    rearranged[op.inputs[1]] = filter_bytes(self.graph, op, kernel)
        for tensor in rearranged:
            if len(orders[tensor]) > 1:
                raise ProgramError(f"filter '{self.graph.tensors[tensor].name}' is read in two orders by these kernels")
        return rearranged | biases

    def state(self) -> Iterator[tuple[int, bytes]]:
        """The variables' initial values; one without has its zero point, as TensorFlow Lite Micro resets it."""
        for tensor in self.graph.tensors:
            if tensor.variable and f"tensor{tensor.index}" in self.buffers:
                data = initial_values(tensor).tobytes()
                yield self.home(f"tensor{tensor.index}", len(data)), data

    def kernel(self, task: Compute) -> Kernel:
        return self.kernels[task.operator]

    def calls(self, task: Compute) -> list[tuple[int, bytes, list[Span]]]:
        """The call structures of a task, in the order of the calls: address, bytes, and what the call may write."""
        op, kernel = self.graph.operators[task.operator], self.kernel(task)
        size = -(-P.call_size(self.graph, op, kernel.layout) // 8) * 8
        first = self.home(f"node{op.index}", size * P.calls(op))
        inputs, outputs = self._inputs(task, op), self.spans(task, "output")
        addresses = {role: next((s.address for s in self.spans(task, role)), 0) for role in _SINGLE}
        calls = []
        for part in range(P.calls(op)):
            at = first + part * size
            places = P.Places(at, inputs, [span.address for span in outputs], **addresses)
            written = [*(outputs[part : part + 1] if P.calls(op) > 1 else outputs)]
            written += [*self.spans(task, "scratch"), *self.spans(task, "state")]
            if op.traits.multiplies:  # transposed copies lie behind the structure
                written.append(Span("", at, size))
            calls.append((at, P.call_bytes(self.graph, op, places, task.rows, part), written))
        return calls

    def spans(self, task: Compute, role: str) -> list[Span]:
        return [operand.span for operand in task.operands if operand.role == role]

    def tensor(self, index: int) -> int:
        """Where a tensor is at home."""
        return self.home(f"tensor{index}", self.graph.tensors[index].bytes)

    def _inputs(self, task: Compute, op: Operator) -> list[int]:
        """Addresses of the inputs' rows that the task reads, in the order the kernel's structure has them."""
        if op.traits.keeps_state:
            return [self.tensor(t) if t >= 0 else 0 for t in op.inputs]
        tensors = P.data_inputs(op)
        named = [t for role, t in tensor_roles(self.graph, op) if role.startswith("input")]
        spans = [o.span for o in task.operands if o.role.startswith("input")]
        if named != list(tensors):  # the data of a RESHAPE or the like is a constant
            return [self.tensor(t) for t in tensors]
        return [self._rows(task, t, span) for t, span in zip(tensors, spans, strict=True)]

    def _rows(self, task: Compute, index: int, span: Span) -> int:
        """A tile finds its own rows in a copy; where the whole tensor is read in place they begin further on."""
        tensor, rows = self.graph.tensors[index], task.rows
        shape = (1,) * (4 - len(tensor.shape)) + tuple(tensor.shape)
        if rows == whole(task.geometry) or span.bytes < tensor.bytes or shape[1] == 1:
            return span.address
        return span.address + tensor.bytes // shape[1] * rows.in_row

    def _check(self, task: Compute) -> None:
        op, kernel = self.graph.operators[task.operator], self.kernel(task)
        where = f"task {task.id} (operator {op.index} {op.type})"
        if replace(task.geometry, slow_channels=0, clamped=0) != geometry(self.graph, op):
            raise ProgramError(f"{where}: its geometry is not that of the model's operator")
        needs: dict[str, tuple[int, int]] = {"scratch": (kernel.scratch_bytes(task.geometry), 1)}
        needs["output"] = (1, len(op.outputs))
        named = [role for role, _ in tensor_roles(self.graph, op) if role.startswith("input")]
        if sorted(named) != sorted(o.role for o in task.operands if o.role.startswith("input")):
            raise ProgramError(f"{where}: its inputs are not those of the model's operator, {', '.join(named)}")
        if op.traits.parametric:
            needs |= {"filter": (1, 1)}
        if P.channel_arrays(self.graph, op) is not None:
            needs |= {
                "multiplier": (4 * task.geometry.out_c, 1),
                "shift": (4 * task.geometry.out_c, 1),
            }
        for role, (size, count) in needs.items():
            spans = self.spans(task, role)
            if size and (len(spans) < count or any(span.bytes < size for span in spans)):
                have = ", ".join(f"{span.bytes:,} B" for span in spans) or "nothing"
                raise ProgramError(
                    f"{where}: kernel {kernel.symbol} needs {size:,} B of {role} and the task has {have};"
                    " plan it for this kernel set or its profile"
                )


_SINGLE: Sequence[str] = ("filter", "bias", "multiplier", "shift", "scratch")
