"""What the advisor prints: the answer first, at most 80 columns, what was refused with what it lacks."""

from __future__ import annotations

from mcusim.report.advise.table import advise_table
from mcusim.results.plan_advice import DecisionWorth, PlanAdvice, TriedPlan, pareto_front

FAST = TriedPlan(
    "stm32f469i-disco", {"policy": "tinyops", "runtime": "tinyengine", "overlay": "input,filter"}, 1_000_000, 12.5,
    3.25, (10.0, 16.0), 200 << 10, 300 << 10, 990_000, 12.4, "emulate", "LiteRT",
    command="mcusim run m.tflite --machine f469 -p tinyops",
)  # fmt: skip
SMALL = TriedPlan("stm32f469i-disco", {"policy": "external"}, 2_000_000, 25.0, 6.0, None, 0, 1, 9, 25.0)
LARGE = TriedPlan("stm32f469i-disco", {"policy": "internal"}, reason="the tensor arena does not fit", short=1.5)
TRIED = (FAST, SMALL, LARGE)


def test_the_answer_is_above_what_there_is_to_choose_from() -> None:
    worth = (
        DecisionWorth("overlay", "input,filter", 1.25, 0.9),
        DecisionWorth("runtime", "tinyengine", None, None, "no"),
    )
    advice = PlanAdvice("m", "latency", "cmsis", TRIED, FAST, pareto_front(TRIED), worth, ("something",))
    lines = advise_table(advice).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[:7] == [
        "fits: m on stm32f469i-disco: policy tinyops, runtime tinyengine, overlay",
        "  input,filter",
        "  latency   12.5 ms (10 to 16); 1,000,000 cycles; replayed 990,000",
        "  energy    3.25 mJ; SRAM 200 KiB, flash 300 KiB",
        "  checked   emulated; outputs are LiteRT's, byte for byte",
        "  run",
        "            mcusim run m.tflite --machine f469 -p tinyops",
    ]
    text = " ".join(" ".join(lines).split())
    assert "overlay input,filter: 1.25 times the time, 0.90 times the SRAM" in text and "runtime tinyengine: no" in text
    assert "1 plan that does not do policy internal: the tensor arena does not fit" in text and "note something" in text


def test_nothing_that_meets_it_names_the_closest() -> None:
    assert advise_table(PlanAdvice("m", "latency", "cmsis", (LARGE,))).splitlines()[:2] == [
        "nothing meets it: 1 plan tried for m",
        "  closest   policy internal: the tensor arena does not fit",
    ]
