"""Every key of a run's JSON is described, and every description has its key; new keys go into ``run_keys.py``."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from mcusim import load_machine, simulate
from mcusim.api.simulate import replay
from mcusim.errors import DoesNotFit, KernelFault
from mcusim.model.operators import opaque
from mcusim.program import read_program
from mcusim.report.json_keys import described
from mcusim.report.run.json import RUN_KEYS, run_json_page
from mcusim.results import Measured
from mcusim.results.advice import Advice, Attempt, LimitCheck, WayOut
from mcusim.results.other_code import OtherCode
from mcusim.results.provenance import run_json
from tests.support.graphs.small_graphs import chain
from tests.support.pages.made_results import make_result
from tests.support.paths import REPOSITORY

F746 = "stm32f746g-disco"


@cache
def rows() -> list[Any]:
    emulated = simulate("ds-cnn", F746, policy="tinyops", fidelity="emulate", overrides={"core.clock": "200 MHz"})
    published = Measured("a paper", ("Table 1",), {"latency_ms": 8.0}, {"latency_ms": "validate"})
    nothing = replace(emulated, run=None, energy=None, outputs=())
    fault = KernelFault(1, "ADD", 0, 1, "add", "bad address", "it wrote to 0x0", 4, 0, "add.c:1")
    program = read_program(REPOSITORY / "traces" / "ds-cnn-internal.jsonl")
    results = [
        replace(emulated, measured=published),
        simulate("ds-cnn", F746, overrides={"core.clock": "216 MHz"}, invocations=2),
        simulate("figure-1", F746, period="1 s", battery="CR2032", persistent="itcm"),
        simulate("mnasnet-w0.10-r032-pad", F746, runtime="tinyengine", patches="4x4", patch_split=7, without="tiling"),
        replace(nothing, does_not_fit=DoesNotFit("dtcm", 2, 1, "the arena")),
        replace(nothing, fault=fault),
        replace(nothing, unusable="no such memory", macs=None),
        replace(make_result(), machine=replace(emulated.machine, stayed=("power.run 10 mA",))),
        replay(program, load_machine("stm32f469i-disco")),
        simulate(chain("RELU", opaque("foo"), opaque("bar")), F746, costs={"foo": "1 cycle"}),
    ]
    assert emulated.flash is not None
    named = ("weights in qspi", "mcusim run x --weights qspi", "board", "internal")
    way = WayOut(*named, 1.0, None, 2, 3, interval_ms=(0.5, 2.0))
    advice = Advice((LimitCheck("sram", "B", 1, 2),), (way,), 1, attempts=(Attempt("x", "mcusim run x", "no", "1 B"),))
    results[0] = replace(
        results[0],
        other_code=(OtherCode("theirs", "another's code", 1.0),),
        advice=advice,
        warnings=("uint8",),
        flash=replace(emulated.flash, uncounted=("code of FOO",)),
    )
    own = [run_json(result) for result in results]
    plug_in = {"kind": "kernels", "name": "./mine.toml", "sha256": "0"}
    return [{**own[0], "made": {**own[0]["made"], "plug_ins": [plug_in]}}, *own[1:]]


def test_every_key_is_described() -> None:
    missing = {path for row in rows() for path, key in described(row, RUN_KEYS) if key is None}
    assert missing == set(), "describe new keys in mcusim/report/run/json.py, with the type that they have"


def test_every_description_has_its_key() -> None:
    assert {key for row in rows() for _, key in described(row, RUN_KEYS)} == set(RUN_KEYS)


@pytest.mark.parametrize(
    "row", [{"new": 1}, {"cycles": "7"}, {"fits": 1}, {"operators": [{"ms": None}]}, {"policy": None}]
)
def test_what_is_not_described_is_found(row: dict[str, Any]) -> None:
    assert None in {key for _, key in described(row, RUN_KEYS)}


def test_the_page_lists_them() -> None:
    page = run_json_page()
    assert all(f"| `{key}` |" in page for key in RUN_KEYS)
    assert (REPOSITORY / "docs/pages/reference/run-json.md").read_text(encoding="utf-8").endswith(page)
