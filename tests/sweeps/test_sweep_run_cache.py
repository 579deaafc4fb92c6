"""What points of a sweep share is the same as computed afresh: plans and runs, whatever key differs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.kernels import load_profile
from mcusim.kernels.cost.profile import FOLDER
from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.plan import plan
from mcusim.sweeps import input_hashes as contents
from mcusim.sweeps import point as at
from mcusim.sweeps.points import points
from mcusim.sweeps.run_cache import PlanView
from mcusim.sweeps.study_file import study_of
from mcusim.sweeps.sweep import prepared
from tests.support.cases import only_with_all_cases, sampled
from tests.support.other_processes import LONGEST_WAIT

POLICIES = ("internal", "external", "tinyops")


@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
def test_what_a_plan_depends_on(policy: str) -> None:
    """Machines that are equal as a plan sees them have the same plan; the ones that differ have another, or may."""
    base = load_machine("stm32f746g-disco")
    kernels = load_profile("cmsis-2021-gcc9")
    graph = mcusim.load_model("ds-cnn")
    same = {
        "memory.sdram.timing.tRCD": "4 sdclk",
        "core.clock": "100 MHz",
        "memory.flash.wait_states": 0,
        "dma.dma2.port_cost": "9 hclk",
        "dma.dma2.burst": 4,
        "memory.sdram.width": "32 bit",
        "memory.sram1.read_latency": "0 cycles",
        "cache.data.ways": 1,
        "power.run": "1 mA",
        "bus.clock": "50 MHz",
    }
    first = plan(graph, base, policy, kernels=kernels)
    for key, value in same.items():
        machine = base.replace(key, value)
        assert PlanView(machine) == PlanView(base), key
        assert plan(graph, machine, policy, kernels=kernels) == first, key
    for key, value in {
        "cache.data.size": "0 B",
        "cache.data.line": "64 B",
        "dma.dma2.streams": 1,
        "dma.dma2.beat": "4 B",
        "memory.sram1.size": "64 KiB",
        "memory.sdram.attribute": "uncached",
        "memory.sdram.base": 0xC000_0000,
    }.items():
        assert PlanView(base.replace(key, value)) != PlanView(base), key


# a value of every kind of key that is not the file's
OTHER = {
    "cycles": "3 cycles",
    "sdclk": "3 sdclk",
    "hclk": "3 hclk",
    "ns": "70 ns",
    "us": "9 us",
    "MHz": "54 MHz",
    "mA": "11 mA",
    "nJ": "9 nJ",
    "V": "3 V",
}
ELSEWHERE = {
    "memory.sdram.width": "32 bit",
    "memory.sdram.banks": 2,
    "memory.sdram.write_fifo": 1,
    "memory.sdram.attribute": "uncached",
    "memory.flash.wait_states": 1,
    "memory.qspi.dummy": 4,
    "memory.sram1.size": "128 KiB",
    "memory.flash.size": "2 MiB",
    "cache.data.size": "8 KiB",
    "cache.data.ways": 2,
    "cache.instruction.size": "0 B",
    "dma.dma2.beat": "4 B",
    "dma.dma2.burst": 4,
    "dma.dma2.streams": 1,
}


def changes(machine: Machine) -> dict[str, Any]:
    """Keys and other values that the machine can have."""
    found: dict[str, Any] = {}
    for key, figure in machine.figures.items():
        unit = figure.text.rpartition(" ")[2]
        if unit in OTHER and figure.text != OTHER[unit]:
            found[key] = OTHER[unit]
    return {key: value for key, value in (found | ELSEWHERE).items() if possible(machine, key, value)}


def possible(machine: Machine, key: str, value: object) -> bool:
    try:
        machine.replace(key, value)
    except mcusim.errors.MachineError:
        return False
    return True


@only_with_all_cases
@pytest.mark.parametrize("policy", sampled(POLICIES, 1))
def test_every_key_gives_what_a_run_of_its_own_gives(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine("stm32f746g-disco")
    runs: list[str] = []
    run_or_reason = at.run_or_reason
    monkeypatch.setattr(at, "run_or_reason", lambda *all_: runs.append("run") or run_or_reason(*all_))
    shared = set()
    found = changes(machine)
    assert len(found) > 40
    for key, value in found.items():
        study = study_of(
            ({**BASE, "policies": [policy], "axes": {key: [machine.figures[key].text, value]}}, {}), "", None, ""
        )
        work, (first, second) = prepared(study), points(study)
        at.forget()
        runs.clear()
        [_, (_, row)] = at.perform(work, (("a", first), ("b", second)))
        if len(runs) == 1:
            shared.add(key)
        at.forget()
        assert at.perform(work, (("b", second),)) == [("b", row)], key
    assert {key for key in found if key.startswith("power.")} <= shared
    assert ("memory.sdram.timing.refresh" in shared) is (policy == "internal")
    assert ("dma.dma2.port_cost" in shared) is (policy != "tinyops")
    assert "memory.qspi.dummy" in shared
    assert not shared & {
        "core.clock",
        "bus.clock",
        "cache.data.size",
        "cache.data.ways",
        "memory.flash.wait_states",
    }


BASE = {"models": ["ds-cnn"], "machines": ["stm32f746g-disco"]}


@only_with_all_cases
def test_what_is_kept_is_bounded() -> None:
    kept_runs = at.RunCache()
    machine = load_machine("nucleo-h743zi")  # 300 MHz and more
    for n in range(200):
        kept_runs.keep(n % 40, machine.replace("core.clock", f"{n + 1} MHz"), [], at.Played({"n": n}))
    kept = [played.row["n"] for runs in kept_runs._runs.values() for _, _, played in runs]
    assert len(kept_runs._runs) == 16
    assert max(kept) == 199
    for n in range(300):
        kept_runs.keep("one", machine.replace("core.clock", f"{n + 1} MHz"), [], at.Played({"n": n}))
    assert len(kept_runs._runs["one"]) == 64
    assert kept_runs.find("one", machine.replace("core.clock", "1 MHz")) is None
    assert kept_runs.find("one", machine.replace("core.clock", "300 MHz")) == at.Played({"n": 299})


def test_kernels_that_were_built_anew_are_run(tmp_path: Path) -> None:
    """In one process, under one path: a notebook between two sweeps."""
    folder, cycles = tmp_path / "mine", []
    for name in ("reference", "cmsis"):
        shutil.copytree(Path(str(files("mcusim.kernels"))) / "sets" / name, folder, dirs_exist_ok=True)
        found = {"policies": ["internal"], "kernels": [str(folder)], "fidelity": "emulate"}
        cycles.append(int(mcusim.sweep({**BASE, **found, "models": ["figure-1"]}, jobs=1).cycles[0]))
    assert cycles[0] > 1.2 * cycles[1]


def test_a_profile_that_was_edited_is_read_anew(tmp_path: Path) -> None:
    path, found = tmp_path / "mine.toml", []
    text = (FOLDER / "cmsis-gcc12.toml").read_text(encoding="utf-8")
    for cycles in (1800, 101_800):
        path.write_text(text.replace("operator = 1800", f"operator = {cycles}"), encoding="utf-8")
        row = mcusim.sweep({**BASE, "policies": ["internal"], "kernels": [str(path)]}, jobs=1).iloc[0]
        alone = mcusim.simulate("ds-cnn", "stm32f746g-disco", kernels=str(path)).run
        assert alone is not None
        assert row.cycles == alone.cycles
        found.append((alone.cycles, row.key))
    assert found[1][0] - found[0][0] == 13 * 100_000
    assert found[0][1] != found[1][1]


def test_a_row_rests_on_the_published_results_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its intervals depend on them."""
    study = study_of(({**BASE, "policies": ["internal"]}, {}), "", None, "")
    monkeypatch.setattr(contents, "stored_rows", tuple)
    contents.mcusim_sha256.cache_clear()
    other = prepared(study).code
    monkeypatch.undo()
    contents.mcusim_sha256.cache_clear()
    assert prepared(study).code != other


GROWTH = """
from pathlib import Path
from mcusim.sweeps.point import perform
from mcusim.sweeps.points import points
from mcusim.sweeps.sweep import prepared
from mcusim.sweeps.study_file import study_of

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

text = {"models": ["ds-cnn"], "machines": ["stm32f746g-disco"], "policies": ["internal"], "axes": {"core.clock": [
    f"{100_000 + n} kHz" for n in range(400)]}}
study = study_of((text, {}), "study", None, "study")
work, found = prepared(study), points(study)
for n, point in enumerate(found):
    [(_, row)] = perform(work, ((str(n), point),))
    assert row["status"] == "ok"
    if n == 100:
        before = resident()
print(resident() - before)
"""


@only_with_all_cases
def test_a_process_does_not_grow() -> None:
    done = subprocess.run(
        [sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True, timeout=LONGEST_WAIT
    )
    assert int(done.stdout) < 4 << 20  # of some 200 MiB
