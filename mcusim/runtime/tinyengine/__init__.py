"""``tinyengine``: MCUNet's way (Lin et al. 2020): C code compiled for the model, one static array planned offline.

What vanishes is :mod:`~mcusim.runtime.tinyengine.executed`'s, what the array has
:mod:`~mcusim.runtime.tinyengine.array_rules`'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from mcusim.model.geometry import Geometry
from mcusim.model.graph import Graph, Operator
from mcusim.runtime import tflm
from mcusim.runtime.patched import patched
from mcusim.runtime.runtime import AblationStep, ArrayRules, InferenceEngine, Runtime
from mcusim.runtime.tinyengine import array_rules
from mcusim.runtime.tinyengine.executed import executed

__all__ = ["RUNTIME"]

TECHNIQUES = {
    "kernels": "kernels of its own, with their columns of inputs and planes of channels; without: an interpreter's",
    "fusion": "PADs are part of the next convolution",
    "unrolling": "loops over a depth of 8 to 48 and over 3x3 to 7x7 windows are written out",
    "tiling": "outputs of a depthwise row share the words that they read",
}
LADDER_NOTE = (
    "MCUNet's paper (Figure 5, of a network that it does not name) has +23, +9, +7, +5 and +4 % for the steps from code"
    " generation to tiling: code generation gains less here, as an interpreter's own cycles are an assumption, of some"
    " thousands an operator at most, and unrolling more, as these kernels without it loop over any window and depth;"
    " what the paper's are before that step is not published"
)
_REST = ("unrolling", "tiling")  # of kernels of its own


def _lesser(names: frozenset[str]) -> Runtime:
    """Compiled code without the techniques of these names, and without those that rest on them."""
    assert RUNTIME.array is not None
    left_out = names | set(_REST if "kernels" in names else _REST[1:] if "unrolling" in names else ())
    runtime = replace(RUNTIME, left_out=left_out, profiles=())
    if "fusion" in left_out:
        runtime = replace(runtime, executed=partial(executed, absorbing=False))
    if "kernels" not in left_out:
        return runtime
    rules = replace(
        RUNTIME.array, in_place=_casts, columns=_no_columns, scratch=_none, filters=_none, own_kernels=False
    )
    return replace(runtime, kernels=tflm.RUNTIME.kernels, own_kernels=False, array=rules)


def _casts(graph: Graph, op: Operator) -> bool:
    return op.traits.casts and array_rules.in_place(graph, op)


def _no_columns(shapes: Sequence[Geometry], im2col: str = "") -> tuple[int, ...]:
    return (0,) * len(shapes)


def _none(*rules: object) -> int:
    return 0


def _ladder() -> tuple[AblationStep, ...]:
    """From an interpreter to all of it: a technique more at each step."""
    missing, steps = list(TECHNIQUES), [AblationStep("interpreter", tflm.RUNTIME.name)]
    steps.append(AblationStep("code generation", "tinyengine", frozenset(missing)))
    while missing:
        name = missing.pop(0)
        steps.append(AblationStep(name, "tinyengine", frozenset(missing)))
    return (*steps, AblationStep("in place", "tinyengine", in_place=True))


RUNTIME = Runtime(
    name="tinyengine",
    description="TinyEngine: code compiled for the model, one static array",
    executed=executed,
    requests=lambda graph: (),
    kernels=("tinyengine-gcc12", "tinyengine"),
    alignment=1,
    node_bytes=0,
    per_channel_bytes=0,
    code_bytes=1 << 10,
    code_source="generated calls, assumed",
    keeps_file=False,
    cycles=lambda core: 8,
    cycles_of=("compiled calls", "assumed: load the constants' address, branch with link, return"),
    own_kernels=True,
    profiles=("tinyengine-mit",),
    engines=(
        InferenceEngine("compiled", "mcusim", "tinyengine-gcc12"),
        InferenceEngine("TinyEngine", "MIT", "tinyengine-mit"),
    ),
    array=ArrayRules(
        im2col=array_rules.IM2COL,
        in_place=array_rules.in_place,
        columns=array_rules.columns,
        scratch=array_rules.scratch_bytes,
        filters=array_rules.filter_bytes,
        parameters=array_rules.parameter_bytes,
    ),
    techniques=TECHNIQUES,
    lesser=_lesser,
    ladder=_ladder(),
    ladder_note=LADDER_NOTE,
    cut=patched,
)
