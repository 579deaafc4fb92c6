"""The Cortex-M7 half of ``cmsis-2021-gcc9``: its counted Cortex-M4 costs times what the M7 makes of kernels like them.

The kernels are those of the set ``cmsis-nano``: the same technique, fitted on both cores. The ratio of a loop level is
that of the levels of their nests that do the same work: Cortex-M7 cycles over Cortex-M4 cycles.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from mcusim.kernels import load_profile
from mcusim.kernels.profile import CoreCosts

SET = "cmsis-nano-gcc12"
SOURCE = (
    "the Cortex-M4 cost times Cortex-M7 over Cortex-M4 cycles of the same work in the emulated kernel set cmsis-nano"
    " (scripts/fit_profiles)"
)
# variant -> kind, and for each of its levels the levels of the nest that do the same, added up
SAME: dict[str, tuple[str, dict[str, str]]] = {
    "pointwise": (
        "cmsis_conv-pointwise",
        {"block": "quad quad_bank quad_bank_2", "rest": "rest rest_bank rest_bank_2", "sum": "sum", "output": "output"},
    ),
    "conv": (
        "cmsis_conv-columns",
        {
            "block": "quad_2 column_bank filter_bank", "rest": "element_2", "tap": "tap", "element": "quad",
            "element_rest": "element", "zero": "zero_byte", "output": "output",
        },
    ),
    "depthwise": (
        "cmsis_depthwise-columns",
        {
            "mac": "pair filter_bank column_bank", "tap": "tap", "element": "quad", "zero": "zero_byte",
            "output": "output",
        },
    ),
    "depthwise_3x3": ("cmsis_depthwise-3x3", {"mac": "row left right bank bank bank", "output": "output"}),
    "depthwise_basic": ("cmsis_depthwise-plain", {"mac": "mac bank", "output": "output"}),
    "fully_connected": ("cmsis_fully_connected", {"mac": "quad quad_bank quad_bank", "output": "output"}),
    "add": ("cmsis_add-same", {"element": "quad"}),
    "pool": ("cmsis_average_pool", {"tap": "sum", "output": "output"}),
    "elementwise": ("cmsis_mul-same", {"element": "quad"}),
    "lookup": ("reference_softmax", {"element": "sum element"}),
    "copy": ("reference_move", {"element": "byte"}),
}  # fmt: skip


def ratio(four: CoreCosts, seven: CoreCosts, kind: str, levels: str) -> float:
    """Cycles of the levels on the Cortex-M7 over those on the Cortex-M4."""
    spent = [sum(core.fitted[kind].levels[level][0] for level in levels.split()) for core in (four, seven)]
    return spent[1] / spent[0]


def anchored(path: Path) -> str:
    """The text of the profile with its Cortex-M7 half written anew."""
    text = path.read_text(encoding="utf-8")
    data, set_ = tomllib.loads(text), load_profile(SET)
    four, seven = set_.core("cortex-m4"), set_.core("cortex-m7")
    runtime = text[text.index("[cortex-m7.runtime]") : text.index("[cortex-m7.pointwise]")]
    found = text[: text.index("[cortex-m7]")] + f'[cortex-m7]\nbasis = "emulated"\nsource = "{SOURCE}"\n\n{runtime}'
    tables = []
    for variant, (kind, by_level) in SAME.items():
        lines = [f"[cortex-m7.{variant}]"]
        for level, levels in by_level.items():
            cost, factor = data["cortex-m4"][variant][level], ratio(four, seven, kind, levels)
            lines.append(f"{level} = {cost * factor:.3f} # {cost:g} x {factor:.3f}")
        tables.append("\n".join(lines) + "\n")
    return found + "\n".join(tables)
