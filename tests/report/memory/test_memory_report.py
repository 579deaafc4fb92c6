"""The table of ``mcusim memory``, figure by figure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mcusim.api.plan_memory import memory, priced
from mcusim.report.memory.table import memory_table


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_the_table_tells_holes_and_what_is_not_proven() -> None:
    plan = memory("figure-1", order="optimal")
    assert plan.ordering is not None
    text = memory_table(plan)
    assert ["2", "5", "CONV_2D", "#" * 13, "3,904", "4,960"] in rows(text)
    assert "peak            at operator 1 CONV_2D  no order needs less  4,960 B" in text
    text = memory_table(replace(plan, ordering=replace(plan.ordering, bound=4000)))
    assert "at operator 1 CONV_2D  no order needs less than 4,000 B" in text


def test_the_table_tells_what_tflm_adds() -> None:
    plan = memory("figure-1")
    assert " B at the head of its arena\n" in memory_table(plan)
    assert "5,248 B at the head of its arena, 32 more for" in memory_table(replace(plan, tflm_head=5248))


def test_names_cannot_write_to_the_terminal() -> None:
    plan = memory("figure-1")
    timeline = plan.after.timeline
    named = tuple(replace(one, name="a\x1b[2J\u202eb") for one in timeline.residents)
    text = memory_table(replace(plan, after=replace(plan.after, timeline=replace(timeline, residents=named))))
    assert "a?[2J?b" in text and "\x1b" not in text


def test_moves_to_any_byte_are_priced_by_bytes_alone() -> None:
    found = priced(memory("figure-1", allocator="dynamic", machine="nucleo-f767zi", align=2))
    assert [one.copy for one in found.defragmentation] == ["bytes"]


def keys(data: Any) -> set[str]:
    if isinstance(data, list):
        return set().union(*map(keys, data))
    if not isinstance(data, dict):
        return set()
    return set(data).union(*map(keys, data.values()))
