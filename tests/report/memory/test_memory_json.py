"""The JSON of ``mcusim memory``, figure by figure."""

from __future__ import annotations

import re
from typing import Any

from mcusim.api.plan_memory import memory, priced
from mcusim.report.memory.json import memory_json


def test_the_figures_of_the_json() -> None:
    found = memory_json(memory("figure-1", allocator="greedy", machine="nucleo-f767zi"))
    assert [(one["name"], one["first"], one["last"]) for one in found["residents"]][:3] == [
        ("input", 0, 0), ("conv_2d_0", 0, 3), ("conv_2d_1", 1, 2),
    ]  # fmt: skip
    linear = found["allocators"][0]
    assert (linear["allocator"], linear["bytes"], linear["lower_bound"], linear["gap"]) == ("linear", 8320, 5216, 3104)
    assert found["memory"] == {"name": "dtcm+sram1+sram2", "bytes": 512 * 1024, "fits": True}


def test_every_key_of_the_json_is_documented() -> None:
    found = memory_json(priced(memory("figure-1", allocator="dynamic", machine="nucleo-f767zi")))
    for one in found["defragmentation"]:
        one["by_cause"] = {}  # its keys are names of causes
    found["made"] = {}
    words = set(re.findall(r"[a-z_0-9]+", memory_json.__doc__ or ""))
    assert keys(found) <= words and {"places", "offset", "target", "cycles_by_move"} <= keys(found)


def keys(data: Any) -> set[str]:
    if isinstance(data, list):
        return set().union(*map(keys, data))
    if not isinstance(data, dict):
        return set()
    return set(data).union(*map(keys, data.values()))
