"""A graph whose first operators run on patches: the transformation that a run executes.

Each patch copies its part of the input, the halo of its neighbours included, runs the stage on it with padding at true
borders alone, and keeps its part of the output; patches of a row are joined along the width, rows along the height.
Halos are computed again, filters are shared. All are operators that kernel sets have, and all values are those of the
uncut network. Not modelled: halos kept from patch to patch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mcusim.model.graph import Graph, Operator, Tensor
from mcusim.model.operators import CROP, JOIN
from mcusim.runtime.patch_stage import Area, PatchStage, patch_stage
from mcusim.runtime.patches import Patches


def patched(graph: Graph, patches: Patches) -> Graph:
    """``graph``, as it is executed whole, with its first operators on patches; itself where that is done already.

    Tensors keep their numbers, new ones come behind them. Raises UsageError where it cannot be cut so.
    """
    if graph.patches:
        return graph
    stage = patch_stage(graph, patches.split)
    cut = _Cut(stage)
    bands = [cut.joined([cut.patch(area) for area in row], 2) for row in stage.patches(patches)]
    cut.joined(bands, 1, stage.target)
    operators = [*cut.operators, *graph.operators[patches.split :]]
    numbered = tuple(replace(op, index=i) for i, op in enumerate(operators))
    return replace(
        graph,
        tensors=tuple(cut.tensors),
        operators=numbered,
        offline_plan=None,
        patches=f"{patches.grid}@{patches.split}",
    )


class _Cut:
    """The operators and tensors of a stage on patches, as they are made."""

    def __init__(self, stage: PatchStage) -> None:
        self.stage = stage
        self.tensors: list[Tensor] = list(stage.graph.tensors)
        self.operators: list[Operator] = []

    def patch(self, area: Area) -> int:
        """The tensor with that part of the stage's output."""
        needed = self.stage.needed(area)
        source = self.stage.source
        made = {source: self._crop(source, self._whole(source), needed[source])}
        for op in self.stage.operators:
            target, part = op.outputs[0], needed[op.outputs[0]]
            made[target] = self._part(target, part)
            self._run(op, part, made, needed)
        return made[self.stage.target]

    def joined(self, parts: list[int], axis: int, target: int | None = None) -> int:
        """The tensor in which ``parts`` are put one behind the other along ``axis``; ``target``, where one is given."""
        if len(parts) == 1 and target is None:
            return parts[0]
        if target is None:
            first = self.tensors[parts[0]]
            shape = list(first.shape)
            shape[axis] = sum(self.tensors[t].shape[axis] for t in parts)
            target = self._new(first, tuple(shape), "band")
        if len(parts) == 1:
            self._renamed(parts[0], target)
        else:
            self._add(JOIN, tuple(parts), target, {"axis": axis, "activation": "NONE"})
        return target

    def _renamed(self, made: int, target: int) -> None:
        """The tensor ``made`` of the last operator is ``target`` itself."""
        last = self.operators[-1]
        assert last.outputs == (made,)
        self.operators[-1] = replace(last, outputs=(target,))

    def _run(self, op: Operator, part: Area, made: dict[int, int], needed: Mapping[int, Area]) -> None:
        reach = self.stage.reach(op, part)
        inputs = [self._crop(made[t], needed[t], reach.inside, t) if t in made else t for t in op.inputs]
        options = dict(op.options)
        if op.traits.windowed:
            options |= {"padding": "EXPLICIT", "pads": reach.pads}
        self._add(op.type, tuple(inputs), made[op.outputs[0]], options)

    def _crop(self, tensor: int, has: Area, wanted: Area, origin: int | None = None) -> int:
        """The tensor with the area ``wanted`` of ``tensor``, which has the area ``has`` of ``origin``."""
        if has == wanted:
            return tensor
        begin = self._constant([0, wanted.top - has.top, wanted.left - has.left, 0])
        crop = self._part(tensor if origin is None else origin, wanted)
        size = self._constant(list(self.tensors[crop].shape))
        self._add(CROP, (tensor, begin, size), crop, {})
        return crop

    def _whole(self, tensor: int) -> Area:
        _, height, width, _ = self.tensors[tensor].shape
        return Area(0, height, 0, width)

    def _part(self, tensor: int, area: Area) -> int:
        first = self.tensors[tensor]
        return self._new(first, (1, area.height, area.width, first.shape[3]), f"rows {area.top} columns {area.left}")

    def _new(self, like: Tensor, shape: tuple[int, ...], suffix: str) -> int:
        name = f"{like.name[:80]} {suffix}"
        self.tensors.append(replace(like, index=len(self.tensors), name=name, shape=shape))
        return len(self.tensors) - 1

    def _constant(self, values: list[int]) -> int:
        """An int32 tensor of ``values``, the one that is there already where there is one."""
        data = np.array(values, np.int32)
        data.setflags(write=False)
        for t in self.tensors[len(self.stage.graph.tensors) :]:
            if t.data is not None and np.array_equal(t.data, data):
                return t.index
        self.tensors.append(Tensor(len(self.tensors), "patch", (len(values),), "int32", data=data))
        return len(self.tensors) - 1

    def _add(self, kind: str, inputs: tuple[int, ...], output: int, options: Mapping[str, object]) -> None:
        self.operators.append(Operator(len(self.operators), kind, inputs, (output,), dict(options)))
