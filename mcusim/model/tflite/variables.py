"""Resource variables: state that a file keeps in handles and fills in a subgraph of its own, which runs once.

VAR_HANDLE names a variable, CALL_ONCE runs the subgraph that assigns the initial values. Both are evaluated here: the
graph has a tensor that is state in the place of the handle, which READ_VARIABLE and ASSIGN_VARIABLE copy from and to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import tflite

from mcusim.errors import ModelError, UnsupportedError
from mcusim.model.graph import Operator, Tensor
from mcusim.model.tflite.flatbuffer import File, shown
from mcusim.model.tflite.tensors import TensorReader

MOST_SUBGRAPHS, MOST_OPERATORS, MOST_OPERANDS = 10_000, 20_000, 1024
CONTAINER_SLOT, NAME_SLOT = 4, 6
EVALUATED = ("CALL_ONCE", "VAR_HANDLE")
Name = tuple[str, str]  # container, shared name


class _Step(NamedTuple):
    """An operator of a subgraph."""

    number: int
    kind: str
    table: Any
    inputs: list[int]
    outputs: list[int]


@dataclass(frozen=True)
class Variables:
    """``tensors``: what is in the place of each handle, by tensor; ``first``: for a handle the one that is read and
    written; ``dropped``: operators that are evaluated; ``once``: subgraphs that run once, before the network."""

    tensors: Mapping[int, Tensor] = field(default_factory=dict)
    first: Mapping[int, int] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()
    once: tuple[int, ...] = ()

    def applied(self, operators: Sequence[Operator]) -> tuple[Operator, ...]:
        """What is left of ``operators`` once handles and calls are evaluated, numbered without them."""
        evaluated = tuple(f"UNKNOWN:{kind}" for kind in EVALUATED)
        left = [self._resolved(op) for op in operators if op.type not in evaluated]
        return tuple(replace(op, index=index) for index, op in enumerate(left))

    def _resolved(self, operator: Operator) -> Operator:
        """``operator`` with the variable as what it reads or writes, in the place of the handle."""
        if not operator.traits.copies_state:
            return operator
        variable, rest = self.first[operator.inputs[0]], operator.inputs[1:]
        if operator.type == "READ_VARIABLE":
            return replace(operator, inputs=(variable,))
        return replace(operator, inputs=rest, outputs=(variable,))


def read_variables(file: File, model: Any, codes: list[str]) -> Variables:
    """The variables of a file whose first subgraph is the network; none for a file without any.

    Raises ModelError for handles, names and types that contradict each other; UnsupportedError for a subgraph that
    CALL_ONCE runs and that does more than assign constants. A variable without an initial value begins
    with its zero point, as in TensorFlow Lite Micro. Not modelled: what running the initial subgraph takes.
    """
    count = file.count(model.SubgraphsLength(), 4, MOST_SUBGRAPHS, "subgraphs")
    network = file.table(model.Subgraphs(0))
    steps = [step for step in _steps(file, network, codes) if step.kind in _KINDS]
    calls = [step for step in steps if step.kind == "CALL_ONCE"]
    targets = _targets(file, calls, count)
    _called_first(file, steps)
    initial: dict[Name, Tensor] = {}
    for target in targets:
        initial |= _initial_values(file, model, target, codes)
    with file.reading("the variables"):
        handles = _handles(file, steps)
        tensors = _variables(file, TensorReader(file, model, network), steps, handles, initial)
    dropped = frozenset(step.number for step in steps if step.kind in EVALUATED)
    first = {handle: _first(handles, name) for handle, name in handles.items()}
    return Variables(tensors, first, dropped, tuple(targets))


_KINDS = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")


def _steps(file: File, subgraph: Any, codes: list[str]) -> Iterator[_Step]:
    with file.reading("the operators"):
        count = file.count(subgraph.OperatorsLength(), 4, MOST_OPERATORS, "operators")
    for index in range(count):
        with file.reading(f"operator {index}"):
            table = file.table(subgraph.Operators(index))
            if table.OpcodeIndex() >= len(codes):
                raise file.error(f"operator code {table.OpcodeIndex()} does not exist, the file has {len(codes)}")
            kind = codes[table.OpcodeIndex()]
            file.what = f"operator {index} {kind}"
            ends = [file.numbers(table, end, 4, MOST_OPERANDS) for end in ("Inputs", "Outputs")]
        if kind in _ENDS and (len(ends[0]), len(ends[1])) != _ENDS[kind]:
            raise ModelError(f"{file.source}: operator {index} {kind}: has the inputs {ends[0]} and outputs {ends[1]}")
        yield _Step(index, kind, table, *ends)


_ENDS = {"CALL_ONCE": (0, 0), "VAR_HANDLE": (0, 1), "READ_VARIABLE": (1, 1), "ASSIGN_VARIABLE": (2, 0)}


def _options(file: File, step: _Step, name: str) -> Any:
    union, options = step.table.BuiltinOptions(), getattr(tflite, name)()
    if union is None or step.table.BuiltinOptionsType() != getattr(tflite.BuiltinOptions, name):
        raise file.error(f"its options are not {name}")
    options.Init(union.Bytes, union.Pos)
    return file.table(options)


def _targets(file: File, calls: list[_Step], count: int) -> list[int]:
    """The subgraphs that are run once, in order."""
    targets = []
    for step in calls:
        with file.reading(f"operator {step.number} {step.kind}"):
            target = _options(file, step, "CallOnceOptions").InitSubgraphIndex()
            if not 0 <= target < count:
                raise file.error(f"subgraph {target} does not exist, the file has {count}")
            if target == 0:
                raise file.error("it calls subgraph 0, which it is part of")
            targets.append(int(target))
    return targets


def _called_first(file: File, steps: list[_Step]) -> None:
    used = [step.number for step in steps if step.kind in ("READ_VARIABLE", "ASSIGN_VARIABLE")]
    late = [step.number for step in steps if step.kind == "CALL_ONCE" and used and step.number > used[0]]
    if late:
        raise UnsupportedError(
            f"{file.source}: operator {late[0]} CALL_ONCE runs after operator {used[0]}, which uses a variable"
        )


def _handles(file: File, steps: list[_Step]) -> dict[int, Name]:
    """The variable that each handle names, by the handle's tensor."""
    handles: dict[int, Name] = {}
    for step in steps:
        if step.kind == "VAR_HANDLE":
            file.what = f"operator {step.number} {step.kind}"
            options = _options(file, step, "VarHandleOptions")
            if step.outputs[0] in handles:
                raise file.error(f"tensor {step.outputs[0]} is a handle already")
            handles[step.outputs[0]] = file.text(options, CONTAINER_SLOT), file.text(options, NAME_SLOT)
        elif step.kind != "CALL_ONCE" and step.inputs[0] not in handles:
            file.what = f"operator {step.number} {step.kind}"
            raise file.error(f"tensor {step.inputs[0]} is not the handle of a variable")
    return handles


def _first(handles: Mapping[int, Name], name: Name) -> int:
    return next(handle for handle, other in handles.items() if other == name)


def _initial_values(file: File, model: Any, target: int, codes: list[str]) -> dict[Name, Tensor]:
    """The constants that a subgraph assigns, by variable."""
    subgraph = file.table(model.Subgraphs(target))
    steps = list(_steps(file, subgraph, codes))
    more = [step for step in steps if step.kind not in ("VAR_HANDLE", "ASSIGN_VARIABLE")]
    if more:
        raise UnsupportedError(
            f"{file.source}: subgraph {target}, which CALL_ONCE runs, has operator {more[0].number} {more[0].kind};"
            " only constants assigned to variables are read there"
        )
    reader, tensors = TensorReader(file, model, subgraph), {}
    with file.reading(f"subgraph {target}"):
        handles = _handles(file, steps)
    for step in steps:
        if step.kind == "ASSIGN_VARIABLE":
            value = _tensor(file, reader, subgraph, step.inputs[1])
            if not value.constant:
                raise UnsupportedError(
                    f"{file.source}: subgraph {target}, which CALL_ONCE runs, assigns tensor {value.index}"
                    f" '{shown(value.name)}', which is not a constant"
                )
            tensors[handles[step.inputs[0]]] = value
    return tensors


def _tensor(file: File, reader: TensorReader, subgraph: Any, index: int) -> Tensor:
    if not 0 <= index < subgraph.TensorsLength():
        raise file.error(f"tensor {index} does not exist, there are {subgraph.TensorsLength()}")
    return reader.tensor(index)


def _variables(
    file: File, reader: TensorReader, steps: list[_Step], handles: Mapping[int, Name], initial: Mapping[Name, Tensor]
) -> dict[int, Tensor]:
    """What is in the place of each handle: the variable at the first one, nothing at others of the same name."""
    uses: dict[Name, list[Tensor]] = {name: [] for name in handles.values()}
    assigned = set(initial)
    for step in steps:
        if step.kind in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
            name, value = handles[step.inputs[0]], (*step.inputs[1:], *step.outputs)[0]
            uses[name].append(_tensor(file, reader, reader.subgraph, value))
            assigned |= {name} if step.kind == "ASSIGN_VARIABLE" else set()
    tensors = {}
    for handle, name in handles.items():
        kinds = [*uses[name], *([initial[name]] if name in initial else [])]
        if handle != _first(handles, name) or not kinds:
            tensors[handle] = Tensor(handle, shown(name[1]), (0,), "int8", variable=True)
            continue
        tensor = kinds[0]
        if name not in assigned:
            raise ModelError(f"{file.source}: variable '{shown(name[1])}' is read and never assigned")
        other = next((t for t in kinds if (t.dtype, t.elements) != (tensor.dtype, tensor.elements)), None)
        if other is not None:
            raise ModelError(
                f"{file.source}: variable '{shown(name[1])}' is {tensor.dtype}{list(tensor.shape)} and"
                f" {other.dtype}{list(other.shape)}"
            )
        values = None if name not in initial else initial[name].data
        tensors[handle] = replace(
            tensor, index=handle, name=name[1] or tensor.name, data=None, variable=True, initial=values
        )
    return tensors
