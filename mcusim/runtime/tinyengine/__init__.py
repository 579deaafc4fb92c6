"""``tinyengine``: MCUNet's way (Lin et al. 2020): C code compiled for the model, one static array planned offline.

What vanishes is :mod:`~mcusim.runtime.tinyengine.executed`'s, what the array has
:mod:`~mcusim.runtime.tinyengine.array_rules`'.
"""

from __future__ import annotations

from mcusim.runtime.runtime import ArrayRules, Runtime
from mcusim.runtime.tinyengine import array_rules
from mcusim.runtime.tinyengine.executed import executed

__all__ = ["RUNTIME"]

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
    array=ArrayRules(
        im2col=array_rules.IM2COL,
        in_place=array_rules.in_place,
        columns=array_rules.columns,
        scratch=array_rules.scratch_bytes,
        filters=array_rules.filter_bytes,
        parameters=array_rules.parameter_bytes,
    ),
)
