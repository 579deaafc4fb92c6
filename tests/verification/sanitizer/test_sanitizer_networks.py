"""Networks under the sanitizer: right programs show nothing; what it sees in spoiled ones the static proof has too."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import islice

import pytest

from mcusim.engine.disturbance import Disturbance
from mcusim.engine.emulated_core import EmulatedCore, Options
from mcusim.engine.execute import run_program
from mcusim.errors import DoesNotFit, KernelFault, ProgramError
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.plan import plan
from mcusim.program import check_program
from mcusim.program.program import Program
from mcusim.run_config.input_tensors import random_inputs
from mcusim.verification.proof import prove
from mcusim.verification.sanitizer.monitor import make_monitor
from tests.support.cases import few, only_with_all_cases, sample_size, sampled
from tests.support.programs.plans import DISCOS, board, model
from tests.support.programs.program_faults import Fault, drop_maintenance, faults

F746 = DISCOS[1]
WARM = (None, 1, 2)
NETWORKS = ("figure-1", "cifar10-arm", "vww_96_int8", "mobilenet-v1-w0.25-r096", "kws_ref_model")


@cache
def program(name: str, machine: str, policy: str = "tinyops") -> Program:
    return plan(model(name), board(machine), policy, load_set("cmsis"))


def run(name: str, machine: str, made: Program, warm: int | None) -> EmulatedCore:
    options = Options(observer=make_monitor("report"), warm=warm)
    check_program(made, board(machine))
    graph = model(name)
    core = EmulatedCore(made, board(machine), graph, load_set("cmsis"), random_inputs(graph), options)
    run_program(made, board(machine), core, "cmsis", "emulate")
    return core


def outputs(core: EmulatedCore) -> list[bytes]:
    return [core.tensor(t).tobytes() for t in core.guest.graph.outputs]


def shows_nothing(name: str, machine: str, policy: str) -> None:
    try:
        made = program(name, machine, policy)
    except DoesNotFit:
        return
    runs = [run(name, machine, made, warm) for warm in WARM]
    assert [core.observed for core in runs] == [[], [], []]
    assert outputs(runs[0]) == outputs(runs[1]) == outputs(runs[2])


@only_with_all_cases
@pytest.mark.parametrize("policy", sampled(["tinyops", "external"], 1))
@pytest.mark.parametrize("machine", sampled(reversed(DISCOS), 1))
def test_right_programs_show_nothing_however_warm_the_cache_is(machine: str, policy: str) -> None:
    shows_nothing("ds-cnn", machine, policy)


CACHES = {
    "write-through": {"cache.data.policy": "write-through"},
    "one way": {"cache.data.ways": "1", "cache.data.size": "1 KiB"},
    "large": {"cache.data.size": "16 KiB", "cache.data.replacement": "lru"},
    "round-robin": {"cache.data.replacement": "round-robin"},
    "uncached SDRAM": {"memory.sdram.attribute": "uncached"},
    "write-through SDRAM": {"memory.sdram.attribute": "write-through"},
}


@only_with_all_cases
@pytest.mark.parametrize("settings", sampled(CACHES, 2))
def test_no_cache_makes_a_right_program_show_anything(settings: str) -> None:
    """The small DTCM leaves overlays, scratch and stack to the SRAM behind the cache."""
    machine = load_machine(F746, {"memory.dtcm.size": "4 KiB", **CACHES[settings]})
    graph, kernels = model("ds-cnn"), load_set("cmsis")
    made = plan(graph, machine, "tinyops", kernels)
    assert prove(made, machine) == []
    found = []
    for warm in WARM:
        options = Options(observer=make_monitor("report"), warm=warm)
        core = EmulatedCore(made, machine, graph, kernels, random_inputs(graph), options)
        run_program(made, machine, core, "cmsis", "emulate", disturb=None if warm is None else Disturbance(warm))
        assert core.observed == []
        found.append(outputs(core))
    assert found == [outputs(run("ds-cnn", F746, program("ds-cnn", F746), None))] * len(WARM)


@few(1)
@pytest.mark.parametrize("policy", ["tinyops", "external", "internal"])
@pytest.mark.parametrize("machine", DISCOS)
@pytest.mark.parametrize(
    "name", sampled(["figure-1", "cifar10-arm", "vww_96_int8", "mobilenet-v1-w0.25-r096", "kws_ref_model"], 1)
)
def test_no_network_shows_anything(name: str, machine: str, policy: str) -> None:
    shows_nothing(name, machine, policy)


class Tally:
    """Of spoiled programs: how many give other outputs, and how many of those the sanitizer sees."""

    def __init__(self) -> None:
        self.differ = self.both = 0

    def add(self, name: str, machine: str, fault: Fault, good: list[bytes]) -> None:
        found = prove(fault.program, board(machine))
        differs, sights = False, []
        for warm in WARM:
            try:
                core = run(name, machine, fault.program, warm)
            except ProgramError:  # refused before it runs
                continue
            except KernelFault:  # its own wrong bytes stop it
                differs = True
                continue
            differs |= outputs(core) != good
            sights += core.observed
        seen = {(one.finding.rule, one.finding.tasks) for one in sights}
        assert found or not sights, f"{fault.name}: only the run shows {seen}"
        assert not differs or any(fault.right(one) for one in found), f"{fault.name}: {found[:3]}"
        self.differ += differs
        self.both += bool(differs and seen)


def tallied(name: str, machine: str, spoiled: Iterator[Fault]) -> Tally:
    good = outputs(run(name, machine, program(name, machine), None))
    tally = Tally()
    for fault in spoiled:
        tally.add(name, machine, fault, good)
    return tally


def test_faults_that_change_an_output_are_diagnosed() -> None:
    tally = tallied("ds-cnn", F746, faults(program("ds-cnn", F746), sample_size(18, 2), "emulated"))
    assert tally.differ >= sample_size(8, 1) and tally.both >= sample_size(3, 0)


@only_with_all_cases
@pytest.mark.parametrize("machine", DISCOS)
@pytest.mark.parametrize(("name", "count"), [("ds-cnn", 30), ("figure-1", 40), ("mobilenet-v1-w0.25-r096", 12)])
def test_faults_in_networks_that_change_an_output_are_diagnosed(name: str, count: int, machine: str) -> None:
    tally = tallied(name, machine, faults(program(name, machine), count, f"{name} {machine} emulated"))
    assert tally.differ >= count // 3 and tally.both >= count // 10


@only_with_all_cases
def test_cleans_that_are_missed_are_seen_where_they_do_harm() -> None:
    rng, made = random.Random(5), program("ds-cnn", F746)
    dropped = islice(iter(lambda: drop_maintenance(made, rng), None), 6)
    good = outputs(run("ds-cnn", F746, made, None))
    seen = 0
    for fault in dropped:
        core = run("ds-cnn", F746, fault.program, 1)
        assert {one.finding.rule for one in core.observed} <= {"missing-clean"}
        assert core.observed or outputs(core) == good
        seen += any(fault.right(one.finding) for one in core.observed)
    assert seen >= 3
