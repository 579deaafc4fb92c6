"""Fidelity ``emulate`` in the engine: whole runs against independent sums, slices, contention, places."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mcusim.api.simulate import replay, simulate
from mcusim.emulator.emulator import Emulator
from mcusim.engine.emulated_core import EmulatedCore, Options
from mcusim.engine.execute import run_program
from mcusim.engine.run import CAUSES, Run
from mcusim.errors import DoesNotFit, ProgramError, UsageError
from mcusim.kernels import load_profile
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import Machine, load_machine
from mcusim.model import Graph, load_model
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.plan import plan
from mcusim.program import check_program
from mcusim.program.program import Program
from mcusim.run_config.input_tensors import random_inputs
from mcusim.runtime.planning_costs import operator_cycles
from tests.support.cases import few, sampled
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.small_graphs import activation, one_operator

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
BOARDS = (F469, F746)


@cache
def network(name: str = "ds-cnn") -> Graph:
    return load_model(name)


def core_of(
    graph: Graph, machine: Machine, policy: str, options: Options | None = None, kernels: str = "cmsis"
) -> tuple[Program, EmulatedCore]:
    chosen = load_set(kernels)
    program = plan(graph, machine, policy, chosen)
    check_program(program, machine)
    return program, EmulatedCore(program, machine, graph, chosen, random_inputs(graph), options)


def run(graph: Graph, machine: Machine, policy: str, options: Options | None = None) -> tuple[Run, list[Any]]:
    program, core = core_of(graph, machine, policy, options)
    done = run_program(program, machine, core, "cmsis", "emulate")
    return done, [core.tensor(t) for t in graph.outputs]


@cache
def plain(board: str, policy: str) -> tuple[Run, list[Any]]:
    return run(network(), load_machine(board), policy)


@few(1)
@pytest.mark.parametrize("board", BOARDS)
def test_a_run_without_dma_is_the_sum_of_its_calls_on_the_core_alone(board: str) -> None:
    """The same calls one after another on an emulator that knows nothing of an engine; caches stay warm in both."""
    machine, graph = load_machine(board), network()
    program, core = core_of(graph, machine, "internal", Options(overhead=0))
    alone = Emulator(machine)
    alone.load(core.image, as_started=True)
    alone.memory.install_ranges(core._ranges)
    for address, data in core.guest.constants():
        alone.write(address, data)
    for tensor, values in zip(graph.inputs, random_inputs(graph), strict=True):
        alone.write(core.guest.tensor(tensor), values.tobytes())
    cycles = 0
    for task in program.tasks:
        for address, data, _ in core.guest.calls(task):
            alone.write(address, data)
            alone.memory.sync(cycles)
            alone.set_stack(core.stack.end, core.stack.address)
            alone.call(core.image.symbol(core.guest.kernel(task).symbol).address & ~1, [address])
            assert alone.run().kind == "returned"
            cycles = -(-alone.memory.state.now // 256)
    done = run_program(program, machine, core, "cmsis", "emulate")
    assert done.cycles == pytest.approx(cycles, rel=1e-4)  # looking for code again at each call costs a few cycles
    assert core.emulator.instructions == alone.instructions


@few(2)
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("policy", ["internal", "tinyops"])
def test_causes_and_operators_sum_to_the_run(board: str, policy: str) -> None:
    done, _ = plain(board, policy)
    assert sum(done.by_cause.values()) == done.cycles == sum(o.cycles for o in done.operators)
    assert set(done.by_cause) == set(CAUSES)
    assert done.by_cause["compute"] > 0.5 * done.cycles
    assert done.by_cause["runtime"] >= operator_cycles(load_machine(board).core.isa) * len(done.operators)


@few(1)
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("cut", sampled([5_000, 311, 777_777], 1))
def test_slices_change_nothing(board: str, cut: int) -> None:
    whole, outputs = plain(board, "tinyops")
    sliced, again = run(network(), load_machine(board), "tinyops", Options(cut=cut))
    assert sliced == whole
    for one, other in zip(outputs, again, strict=True):
        np.testing.assert_array_equal(one, other)


@few(2)
@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
@pytest.mark.parametrize("board", BOARDS)
def test_outputs_do_not_depend_on_where_things_are(board: str, policy: str) -> None:
    graph = network()
    expected = LiteRT(write_tflite(graph)).run(*random_inputs(graph))
    for one, other in zip(expected, plain(board, policy)[1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_interpreter_costs_what_is_said_for_each_operator() -> None:
    machine, graph = load_machine(F469), network()
    free, _ = run(graph, machine, "internal", Options(overhead=0))
    dear, _ = run(graph, machine, "internal", Options(overhead=10_000))
    assert free.by_cause["runtime"] == 0
    assert dear.by_cause["runtime"] == 10_000 * len(graph.operators)
    assert {c: n for c, n in dear.by_cause.items() if c not in ("runtime", "sdram")} == {
        c: n for c, n in free.by_cause.items() if c not in ("runtime", "sdram")
    }
    assert "interpreter: 10,000 cycles an operator (given)" in dear.assumptions


def test_core_and_dma_delay_each_other() -> None:
    """With a DMA that takes no time of the memories the core is faster; a slower core bus makes transfers later."""
    machine = load_machine(F469)
    contended, _ = plain(F469, "tinyops")
    assert contended.by_cause["bus"] > 0
    internal, _ = plain(F469, "internal")
    assert internal.by_cause["bus"] == 0
    slow, _ = run(network(), load_machine(F469, {"memory.sdram.clock": "45 MHz"}), "tinyops")
    assert slow.cycles > contended.cycles
    assert machine.dma["dma2"].streams == 2
    moved = contended.traffic["sdram"]
    program, _ = core_of(network(), machine, "tinyops")
    copied = sum(t.source.bytes for t in program.tasks if hasattr(t, "source") and t.source.region == "sdram")
    assert moved.dma_read == copied


@pytest.mark.parametrize("board", sampled(BOARDS, 1))
def test_physics_of_the_memories(board: str) -> None:
    """Worse memories never make the run faster, better ones never slower."""
    base, _ = plain(board, "tinyops")
    for key, value in (("memory.flash.wait_states", "12"), ("memory.sdram.timing.CL", "8 sdclk")):
        worse, _ = run(network(), load_machine(board, {key: value}), "tinyops")
        assert worse.cycles >= base.cycles, key


def test_code_in_itcm_needs_no_flash() -> None:
    machine = load_machine("nucleo-h743zi")
    flash, outputs = run(network(), machine, "internal")
    itcm, again = run(network(), machine, "internal", Options(code="itcm"))
    assert flash.traffic["flash"].total > itcm.traffic["flash"].total
    assert itcm.cycles < flash.cycles
    assert any("(itcm)" in line for line in itcm.assumptions)
    for one, other in zip(outputs, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_functions_that_ds_cnn_needs_run_from_a_small_itcm() -> None:
    """16 KiB hold what it calls, not the whole set; weights are left in flash, no line of code is fetched from it."""
    machine, graph = load_machine(F746), network()
    assert load_set("cmsis").loaded_bytes("cortex-m7") > machine.memory["itcm"].size == 16 << 10
    program, core = core_of(graph, machine, "internal", Options(code="itcm"))
    done = run_program(program, machine, core, "cmsis", "emulate")
    assert core.image.segments[0].address == machine.memory["itcm"].base
    assert core.code.bytes == len(core.image.segments[0].data) < 14 << 10
    flash, itcm = (core.memory.by_region()[name] for name in ("flash", "itcm"))
    assert flash["fetches"] == flash["fetch_stall"] == 0 < itcm["fetches"]
    constants = sum(t.bytes for t in graph.tensors if t.constant)
    assert flash["read_bytes"] == pytest.approx(constants, abs=64)  # lines of the data cache
    assert done.cycles < plain(F746, "internal")[0].cycles
    for index, values in zip(graph.outputs, plain(F746, "internal")[1], strict=True):
        np.testing.assert_array_equal(core.tensor(index), values)


def test_code_and_stack_that_find_no_room() -> None:
    graph = network()
    small = load_machine(F746, {"memory.itcm.size": "4 KiB"})
    with pytest.raises(DoesNotFit, match="the kernels' code does not fit itcm"):
        core_of(graph, small, "internal", Options(code="itcm"))
    with pytest.raises(UsageError, match="has no region 'ccmram' for code"):
        core_of(graph, small, "internal", Options(code="ccmram"))


def test_weights_at_the_end_of_the_flash_and_code_do_not_meet() -> None:
    """A flash whose last quarter is weights: the code goes to its end; without room there it does not fit."""
    graph = network()
    need = sum(t.bytes for t in graph.tensors if t.constant)
    for kib, fits in ((128, True), (36, False)):
        machine = load_machine(F746, {"memory.flash.size": f"{kib} KiB"})
        assert need < kib * 1024
        if not fits:
            with pytest.raises(DoesNotFit, match="the kernels' code does not fit flash"):
                core_of(graph, machine, "internal")
            continue
        _, core = core_of(graph, machine, "internal")
        spans = [b.span for b in core.guest.program.header.buffers]
        assert all(s.end <= core.code.address or core.code.end <= s.address for s in spans)


def test_a_broadcast_second_input_is_read_at_the_rows_of_each_tile() -> None:
    """tinyops copies the first input in tiles and leaves the narrower second one where it is."""
    shape, narrow = (1, 8, 6, 4), (1, 8, 1, 4)
    graph = one_operator("ADD", [activation(shape), activation(narrow)], [activation(shape)], activation="NONE")
    program, core = core_of(graph, load_machine(F469), "tinyops")
    assert max(task.tiles for task in program.tasks if hasattr(task, "tiles")) > 1
    run_program(program, load_machine(F469), core, "cmsis", "emulate")
    expected = LiteRT(write_tflite(graph)).run(*random_inputs(graph))[0]
    np.testing.assert_array_equal(core.tensor(graph.outputs[0]), expected)


def test_a_saved_program_is_emulated_with_its_model(tmp_path: Any) -> None:
    from mcusim.program import read_program, write_program

    graph, machine = network(), load_machine(F746)
    program = plan(graph, machine, "tinyops", load_set("cmsis"))
    path = tmp_path / "program.jsonl"
    with path.open("w") as file:
        write_program(program, file)
    result = replay(read_program(path), machine, "emulate", model=graph)
    assert result.run == plain(F746, "tinyops")[0]
    assert replay(read_program(path), machine, "replay", "cmsis-2021-gcc9").fits


def test_programs_that_cannot_be_emulated_are_refused() -> None:
    graph, machine = network(), load_machine(F746)
    program = plan(graph, machine, "internal", load_profile("cmsis-2021-gcc9"))
    with pytest.raises(ProgramError, match=r"fully_connected needs .* of multiplier and the task has nothing; plan it"):
        replay(program, machine, "emulate", "cmsis", model=graph)
    ours = plan(graph, machine, "internal", load_set("cmsis"))
    with pytest.raises(ProgramError, match=r"written for another model \(ds-cnn, "):
        replay(ours, machine, "emulate", model="cifar10-arm")
    with pytest.raises(UsageError, match="name the model with --model"):
        replay(ours, machine, "emulate")
    with pytest.raises(UsageError, match="cost profile of code that is not here"):
        simulate(graph, machine, kernels="cmsis-2021-gcc9", fidelity="emulate")
    header = replace(ours.header, buffers=tuple(b for b in ours.header.buffers if b.name != "node2"))
    with pytest.raises(ProgramError, match=r"needs a buffer 'node2' of .* and the program has none"):
        replay(replace(ours, header=header), machine, "emulate", model=graph)


def test_the_result_has_outputs_and_says_what_it_rests_on() -> None:
    graph = network()
    result = simulate(graph, F746, kernels="cmsis", fidelity="emulate")
    assert [o.values.shape for o in result.outputs] == [graph.tensors[t].shape for t in graph.outputs]
    assert any("random values, seed 0" in line for line in result.assumptions)
    assert any("kernels cmsis" in line and "of code at" in line for line in result.assumptions)
    given = [np.zeros(graph.tensors[t].shape, graph.tensors[t].dtype) for t in graph.inputs]
    seen: list[int] = []
    other = simulate(
        graph, F746, kernels="cmsis", fidelity="emulate", input=given, observe=lambda index, values: seen.append(index)
    )
    assert not any("random values" in line for line in other.assumptions)
    assert seen == [op.index for op in graph.operators]
    assert (other.outputs[0].values != result.outputs[0].values).any()


@pytest.mark.parametrize("board", sampled(BOARDS, 1))
def test_what_the_core_computes_does_not_depend_on_the_dma(board: str) -> None:
    """Its driver and its beats cost time under names of their own: runtime, bus."""
    base, _ = plain(board, "tinyops")
    other, _ = run(network(), load_machine(board, {"dma.dma2.completion_interrupt": "3000 cycles"}), "tinyops")
    assert other.by_cause["runtime"] > base.by_cause["runtime"] + 15 * 2880
    words, _ = run(network(), load_machine(board, {"dma.dma2.beat": "4 B"}), "tinyops")
    assert 2 * words.by_cause["bus"] < base.by_cause["bus"]
    for changed in (other, words):
        assert changed.by_cause["compute"] == pytest.approx(base.by_cause["compute"], abs=20)
