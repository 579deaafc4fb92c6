"""A fit to measurements simulated on a changed machine finds the changed figures again, or says that it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import mcusim
from mcusim.errors import MachineError, UsageError
from mcusim.evidence.calibrate.calibrate import Calibration, calibrate
from mcusim.evidence.calibrate.measurements import Experiment
from mcusim.machine import load_machine
from tests.support.boards.perturbed_board import loops, measure, networks, write
from tests.support.cases import few, only_with_all_cases, sampled
from tests.support.paths import REPOSITORY

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
READ, WRITE = "memory.sdram.read_overhead", "memory.sdram.write_overhead"
LINE, STATES = "memory.flash.accelerator.line_change", "memory.flash.wait_states"
RUN, SDRAM, BYTE = "power.run", "power.sdram_active", "power.energy_per_byte.sdram"
COST, SETUP, HANDLER = "dma.dma2.port_cost", "dma.dma2.request_setup", "dma.dma2.completion_interrupt"
ALL = ("internal", "external", "tinyops")
ONE, TWO = networks(ALL), networks(ALL, ("ds-cnn", "figure-1"))
F469_LOOPS, F746_LOOPS = loops(0xC000_0000), loops(0x6000_0000)
QSPI = [Experiment(model="ds-cnn", policy=p, weights=w) for p in ("external", "tinyops") for w in ("sdram", "qspi")]
CASES: dict[str, tuple[str, dict[str, str], Sequence[Experiment]]] = {
    "SDRAM of the F469": (F469, {READ: "11 cycles", WRITE: "13 cycles"}, F469_LOOPS),
    "fetch, SDRAM and power": (F469, {READ: "1 cycles", LINE: "3 cycles", RUN: "60 mA"}, ONE),
    "three of power": (F469, {RUN: "55 mA", SDRAM: "12 mA", BYTE: "3 nJ"}, ONE),
    "DMA and interpreter": (F469, {COST: "12 hclk", "operator_overhead": "9000 cycles"}, TWO),
    "wait states": (F469, {STATES: "8", LINE: "2.5 cycles"}, TWO),
    "behind a cache": (F746, {READ: "14.25 cycles", WRITE: "11.5 cycles", RUN: "120 mA"}, [*ONE, *F746_LOOPS]),
    "wait states behind a cache": (F746, {STATES: "8"}, TWO),
    "SRAM": (F746, {"memory.sram1.read_latency": "11 cycles"}, loops(0x2001_8000)),
    "maintenance": (F746, {"cache.data.maintenance": "21 cycles"}, TWO),
    "QSPI": (F746, {"memory.qspi.read_overhead": "19 cycles", "power.qspi_active": "9 mA"}, QSPI),
}


def values(result: Calibration) -> dict[str, float]:
    return {p.key: p.value for p in result.parameters}


def fitted(
    folder: Path,
    machine: str,
    changes: Mapping[str, str],
    experiments: Sequence[Experiment],
    keys: Sequence[str] | None = None,
    noise: float = 0.0,
) -> Calibration:
    rows = measure(machine, changes, experiments, noise=noise)
    return calibrate(machine, write(folder / "board.csv", rows), keys)


@few(1)
@pytest.mark.parametrize("name", sampled(CASES, 2))
def test_changed_figures_are_found_again(tmp_path: Path, name: str) -> None:
    """Within hundredths of a cycle, where refreshes that fall elsewhere make simulated time rough."""
    machine, changes, experiments = CASES[name]
    result = fitted(tmp_path, machine, changes, experiments, list(changes))
    for key, text in changes.items():
        assert values(result)[key] == pytest.approx(float(text.split()[0]), rel=0.01, abs=0.03), key
    assert result.rms_after < 0.01 < result.rms_before
    assert all(p.bound is None for p in result.parameters)
    assert all(row.after == pytest.approx(row.measured, rel=1e-3) for row in result.residuals)


def test_energies_and_cycles_are_measurements_too(tmp_path: Path) -> None:
    changes = {READ: "9 cycles", RUN: "55 mA"}
    rows = measure(F469, changes, ONE, ("cycles", "energy_mj"))
    result = calibrate(F469, write(tmp_path / "board.csv", rows), list(changes))
    assert values(result) == {READ: pytest.approx(9, rel=0.01), RUN: pytest.approx(55, rel=0.001)}
    assert result.rms_after < 0.01


def test_emulated_rows_are_fitted_as_replayed_ones(tmp_path: Path) -> None:
    sample = str(REPOSITORY / "traces" / "sample-one-conv.tflite")
    ran = [Experiment(model=sample, policy="external", kernels="cmsis", fidelity="emulate")]
    rows = measure(F746, {READ: "15 cycles"}, ran, ("latency_ms",))
    path = tmp_path / "x.csv"
    path.write_text(
        "model,policy,kernels,fidelity,quantity,value\n"
        f"{sample},external,cmsis,emulate,latency_ms,{rows[0].value:.9g}\n",
        encoding="utf-8",
    )
    result = calibrate(F746, path, [READ])
    assert values(result) == {READ: pytest.approx(15, rel=0.01)}


@only_with_all_cases
def test_noise_of_the_measurements_is_the_error_of_the_figures(tmp_path: Path) -> None:
    """One per cent of noise: each figure within three of the standard errors stated, and these are small."""
    changes = {READ: "9 cycles", WRITE: "4 cycles", LINE: "2.5 cycles", RUN: "55 mA", SDRAM: "20 mA"}
    result = fitted(tmp_path, F469, changes, [*TWO, *F469_LOOPS], list(changes), noise=0.01)
    for p in result.parameters:
        truth = float(changes[p.key].split()[0])
        assert p.standard_error is not None
        assert abs(p.value - truth) < 3 * p.standard_error, p
        assert p.standard_error < 0.1 * truth
    assert 0.3 < result.rms_after < 1.5
    assert result.leave_one_out is not None
    assert result.leave_one_out["rows"] == len(result.residuals) - 1  # one loop alone shows WRITE
    assert result.rms_after / 2 < result.leave_one_out["median"] < 3


@only_with_all_cases
def test_the_keys_that_the_rows_determine_are_chosen(tmp_path: Path) -> None:
    """Nobody names keys: those with an effect, fewer than the numbers measured, none from a data sheet."""
    changes = {READ: "9 cycles", RUN: "55 mA"}
    result = fitted(tmp_path, F469, changes, ONE)
    assert {READ, RUN, SDRAM} <= set(values(result))
    assert len(result.parameters) < len(result.residuals)
    assert values(result)[READ] == pytest.approx(9, rel=0.01)
    assert values(result)[RUN] == pytest.approx(55, rel=0.001)
    assert STATES not in {left.key for left in result.left} | set(values(result))
    assert "power.qspi_active" in {left.key for left in result.left}


def test_one_measurement_gives_one_figure(tmp_path: Path) -> None:
    rows = measure(F746, {READ: "9 cycles"}, loops(0x6000_0000, ["read_u32"]))
    result = calibrate(F746, write(tmp_path / "one.csv", rows))
    assert values(result) == {READ: pytest.approx(9, rel=0.02)}
    assert result.parameters[0].standard_error is None
    assert result.leave_one_out is None


REFUSED = {
    "without effect": ([READ, WRITE], networks(["internal"]), [f"{READ} has no effect on any row", WRITE, "measure"]),
    "alike": (
        [SETUP, HANDLER],
        TWO,
        [f"cannot tell {SETUP} and {HANDLER} apart", "many small transfers", "or fit only"],
    ),
    "more keys than rows": ([READ, WRITE, LINE, RUN, SDRAM], networks(["external"]), ["5 keys", "2 measurements"]),
    "currents of one run": ([RUN, SDRAM], networks(["external"]), [f"cannot tell {RUN} and {SDRAM} apart", "on-chip"]),
    "no figure": (["core.clock"], ONE, ['"core.clock": is not a fittable figure', READ]),
    "unknown": (["memory.sdram.read_overhaed"], ONE, ["no such figure", f"did you mean {READ}"]),
    "none": ([], ONE, ["no key"]),
}


@few(2)
@pytest.mark.parametrize("name", REFUSED)
def test_what_the_rows_do_not_determine_is_refused_by_name(tmp_path: Path, name: str) -> None:
    keys, experiments, texts = REFUSED[name]
    with pytest.raises(UsageError) as refused:
        fitted(tmp_path, F746, {}, experiments, keys)
    for text in texts:
        assert text in str(refused.value)


def test_nothing_to_choose_from_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("program,function,arguments,quantity,value\nmemory,read_u32,0x20000000 64,cycles,900\n")
    with pytest.raises(UsageError, match=r"under-determined: .*sdram.read_overhead has no effect on any row; measure"):
        calibrate(F746, path)


@only_with_all_cases
def test_a_key_that_has_no_effect_where_the_fit_ends_is_refused(tmp_path: Path) -> None:
    """Up to two cycles the loop, of five a store, hides the write overhead: any such figure fits, and none is given."""
    found = loops(0xC000_0000, ["read_u16", "read_u32", "write_u32"])
    rows = write(tmp_path / "x.csv", measure(F469, {READ: "11 cycles", WRITE: "1 cycles"}, found))
    with pytest.raises(UsageError, match=rf"under-determined: {WRITE}: near .* cycles, where the fit ends, it has no"):
        calibrate(F469, rows, [READ, WRITE])
    result = calibrate(F469, rows)
    assert values(result) == {READ: pytest.approx(11, rel=0.01)}
    assert WRITE in {left.key for left in result.left}


def test_a_bound_that_is_hit_is_named(tmp_path: Path) -> None:
    rows = measure(F469, {READ: "0 cycles", "memory.sdram.timing.CL": "1 sdclk"}, ONE)
    result = calibrate(F469, write(tmp_path / "fast.csv", rows), [READ])
    (parameter,) = result.parameters
    assert (parameter.value, parameter.bound) == (0, "low")
    assert f"{READ} is at its bound of 0 cycles" in mcusim.table(result)


def test_a_figure_that_moves_far_is_told(tmp_path: Path) -> None:
    near, far = (fitted(tmp_path, F469, {READ: f"{value} cycles"}, networks(["external"]), [READ]) for value in (9, 30))
    assert "typically off by 3: something else" in mcusim.table(far)
    assert "typically off" not in mcusim.table(near)


@only_with_all_cases
def test_leave_one_out_is_a_fit_without_the_run(tmp_path: Path) -> None:
    """Next to fits that really leave the run out; the row of a run that alone determines a key has none.

    A DMA's reads do not have the core's overhead, so runs of policy tinyops do not determine it.
    """
    ran = networks(["internal", "external"], ("ds-cnn", "figure-1"))
    rows = measure(F469, {READ: "9 cycles", LINE: "2.5 cycles"}, ran, ("latency_ms",), noise=0.02)
    result = calibrate(F469, write(tmp_path / "all.csv", rows), [READ, LINE])
    for out, row in enumerate(result.residuals):
        rest = calibrate(F469, write(tmp_path / "rest.csv", [r for i, r in enumerate(rows) if i != out]), [READ, LINE])
        (elsewhere,) = measure(F469, {p.key: p.text for p in rest.parameters}, [rows[out].experiment], ("latency_ms",))
        assert row.leave_one_out == pytest.approx(100 * (elsewhere.value / rows[out].value - 1), rel=0.05)
    alone = calibrate(F469, write(tmp_path / "three.csv", rows[:2]), [READ, LINE])
    assert [row.leave_one_out for row in alone.residuals] == [None, None]


@only_with_all_cases
def test_the_same_input_gives_the_same_text(tmp_path: Path) -> None:
    ran = networks(["internal", "external"])
    first, second = (fitted(tmp_path, F469, {READ: "9 cycles"}, ran, [READ, RUN]) for _ in range(2))
    assert first == second
    assert first.machine_text == second.machine_text


def test_the_file_changes_the_fitted_figures_and_nothing_else(tmp_path: Path) -> None:
    changes = {READ: "9 cycles", RUN: "80 mA", STATES: "9"}
    result = fitted(tmp_path, F469, changes, networks(["internal", "external"]), list(changes))
    path = tmp_path / "mine.toml"
    path.write_text(result.machine_text, encoding="utf-8")
    before, after = load_machine(F469), load_machine(path)
    assert after.name == "mine"
    assert set(before.figures) == set(after.figures)
    for key, figure in after.figures.items():
        if key not in values(result):
            old = before.figures[key]
            there = f"inherited from {F469}, {old.basis} there: {old.source}"
            inherits = old.basis in ("measured", "calibrated")
            was = ("assumed", there) if inherits else (old.basis, old.source)
            assert (figure.text, figure.basis, figure.source) == (old.text, *was), key
            continue
        assert figure.basis == "calibrated"
        assert figure.source.startswith("board.csv, least squares over ")
        assert figure.text.split()[0] == f"{values(result)[key]:.10g}"
    again = calibrate(path, tmp_path / "board.csv", [READ, RUN])
    assert again.rms_after == pytest.approx(result.rms_after, abs=1e-3)


def test_a_machine_by_path_is_extended_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "boards").mkdir()
    (tmp_path / "out").mkdir()
    own = tmp_path / "boards" / 'my "board".toml'
    own.write_text(f'extends = "{F469}"\n[power]\nrun = "44 mA"\n', encoding="utf-8")
    rows = write(tmp_path / "x.csv", measure(F469, {READ: "9 cycles"}, networks(["external"]), ("latency_ms",)))
    for folder in ("boards", "out"):
        output = tmp_path / folder / "fitted.toml"
        output.write_text(calibrate(own, rows, [READ], output=output).machine_text, encoding="utf-8")
        machine = load_machine(output)
        assert machine.power.run == 0.044
        assert machine.figures[READ].basis == "calibrated"


def test_a_path_that_no_machine_file_can_name_is_refused_before_the_fit(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 120) / ("y" * 120)
    deep.mkdir(parents=True)
    own = deep / "own.toml"
    own.write_text(f'extends = "{F469}"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="can extend only a path of at most 200 printable characters"):
        calibrate(own, tmp_path / "none.csv", output=tmp_path / "out.toml")
    rows = write(tmp_path / "x.csv", measure(F469, {READ: "9 cycles"}, networks(["external"]), ("latency_ms",)))
    (deep / "out.toml").write_text(
        calibrate(own, rows, [READ], output=deep / "out.toml").machine_text, encoding="utf-8"
    )
    assert load_machine(deep / "out.toml").figures[READ].basis == "calibrated"


@only_with_all_cases
def test_the_table_fits_a_terminal(tmp_path: Path) -> None:
    text = mcusim.table(fitted(tmp_path, F469, {READ: "9 cycles"}, [*ONE, *F469_LOOPS]))
    assert max(map(len, text.splitlines())) <= 80
    assert "memory: read_u32(0xc000000..." in text


def test_what_python_gives_is_checked(tmp_path: Path) -> None:
    rows = write(tmp_path / "x.csv", measure(F469, {}, networks(["external"]), ("latency_ms",)))
    changed = load_machine(F469, {"core.clock": "90 MHz"})
    with pytest.raises(UsageError, match="changed after loading"):
        calibrate(changed, rows)
    with pytest.raises(UsageError, match="measurements"):
        calibrate(F469, 5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="keys"):
        calibrate(F469, rows, 5)  # type: ignore[arg-type]
    with pytest.raises(MachineError, match="unknown machine"):
        calibrate("nothing", rows)
