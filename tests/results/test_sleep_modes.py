"""``--sleep`` and ``--domain``: what is drawn between two inferences, what waking up costs, and what has no figures."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from mcusim import simulate
from mcusim.commands.app import main
from mcusim.errors import MachineError, UsageError
from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import Machine
from mcusim.results.cautions import cautions
from mcusim.results.duty import duty, require_mode
from mcusim.results.energy import Usage, delivered
from mcusim.run_config.period import Period

G4, F746, L4 = "nucleo-g474re", "stm32f746g-disco", "nucleo-l4r5zi"
USAGE = Usage(seconds=0.1)
RUN = ["run", "figure-1", "-m", G4, "--period", "1 s"]


def asked(sleep: str = "wfi", domain: str = "board", seconds: Fraction = Fraction(1)) -> Period:
    return Period(seconds, None, sleep, domain)


def test_a_period_in_stop_is_the_run_waking_up_and_the_mode() -> None:
    """3.3 V: 29 mA for 0.1 s, 29 mA for 9.5 us and 2.015 ms, 80.5 uA in the rest of 1 s."""
    machine = load_machine(G4)
    found = duty(machine, USAGE, asked("stop"))
    wake = 9.5e-6 + 2.015e-3
    assert found.wake_ms == pytest.approx(1e3 * wake) and found.wake_mj == pytest.approx(3.3 * 29 * wake)
    assert found.sleep_mj == pytest.approx(3.3 * 0.0805 * (0.9 - wake))
    assert found.energy_mj == pytest.approx(3.3 * 29 * (0.1 + wake) + found.sleep_mj)
    assert found.run_mj == pytest.approx(delivered(machine, USAGE).energy_mj)
    assert found.within((8.0, 12.0)).interval_mj == pytest.approx(
        tuple(run + found.wake_mj + found.sleep_mj for run in (8.0, 12.0))
    )


def test_waking_up_has_to_fit_into_the_period() -> None:
    wake = Fraction("0.0020245")
    exact, late = Fraction(1, 10) + wake, Fraction(1, 10) + wake - Fraction(1, 10**7)
    assert duty(load_machine(G4), USAGE, asked("stop", seconds=exact)).met
    assert not duty(load_machine(G4), USAGE, asked("stop", seconds=late)).met
    assert duty(load_machine(G4), USAGE, asked("wfi", seconds=late)).met


def test_an_assumed_mode_has_the_range_of_its_current() -> None:
    found = duty(load_machine(L4), USAGE, asked("stop"))
    assert found.sleep_band == pytest.approx((1 / 80.5, 190 / 80.5)) and found.sleep_mj is not None
    low, high = found.within((1.0, 2.0)).interval_mj or (0, 0)
    assert high - low == pytest.approx(1 + found.sleep_mj * 189 / 80.5)
    known = load_machine(L4).replace("power.mode.stop.current", "400 uA")
    assert duty(known, USAGE, asked("stop")).sleep_band == pytest.approx((1 / 400, 1))
    result = simulate("figure-1", L4, period="1 s", sleep="stop")
    assert any(text.startswith("power.mode.stop.current = 80.5 uA (assumed: STM32G474") for text in result.assumptions)
    assert not any(text.startswith(("power.sleep", "power.mode.standby")) for text in result.assumptions)


def test_the_microcontroller_alone_is_without_the_board() -> None:
    """96 mA of which 6 are the board's; 30 mA asleep likewise; 3.3 V instead of 5."""
    machine = load_machine(F746)
    usage = replace(USAGE, external=["sdram"], moved={"sdram": 10**6})
    found = duty(machine, usage, asked(domain="mcu"))
    assert found.sleep_current_ma == pytest.approx(24)
    assert found.run_mj == pytest.approx(3.3 * 90 * 0.1) and found.energy_mj == pytest.approx(3.3 * (9 + 24 * 0.9))
    whole, alone = (simulate("figure-1", F746, period="1 s", domain=name).duty for name in ("board", "mcu"))
    assert whole is not None and alone is not None and whole.interval_mj and alone.interval_mj
    assert alone.energy_mj < whole.energy_mj and alone.interval_mj[0] < whole.interval_mj[0]


def own_board(folder: Path, mode: str) -> Machine:
    figures = {"current": "0.3 mA", "wakeup": "20 us", "restart": "2 ms"}
    lines = [f'{key} = {{ value = "{value}", basis = "assumed", source = "x" }}' for key, value in figures.items()]
    refresh = 'self_refresh = { value = "3 mA", basis = "assumed", source = "x" }'
    path = folder / f"{mode}.toml"
    path.write_text("\n".join([f'extends = "{F746}"', "[power]", refresh, f"[power.mode.{mode}]", *lines]) + "\n")
    return load_machine(path)


def test_sdram_refreshes_itself_in_stop_and_is_lost_in_standby(tmp_path: Path) -> None:
    machine, usage = own_board(tmp_path, "stop"), replace(USAGE, external=["sdram"])
    assert duty(machine, usage, asked("stop")).sleep_current_ma == pytest.approx(0.3 + 6 + 3)
    assert duty(machine, USAGE, asked("stop")).sleep_current_ma == pytest.approx(0.3 + 6)
    lost = own_board(tmp_path, "standby")
    with pytest.raises(UsageError, match="loses what is in the SDRAM"):
        require_mode(lost, asked("standby"), external=True)
    require_mode(lost, asked("standby"))
    words = ["run", "figure-1", "-m", str(tmp_path / "standby.toml"), "--period", "1 s", "--sleep", "standby"]
    assert main(words) == 0 and main([*words, "-p", "external"]) == 2


def test_standby_warns_of_variables_that_it_loses() -> None:
    result = simulate("figure-1", G4, period="1 s", sleep="standby")
    assert result.run is not None and not cautions(result)
    memory = replace(result.run.header.memory, state=2048)
    with_state = replace(result, run=replace(result.run, header=replace(result.run.header, memory=memory)))
    assert cautions(with_state) == ("standby loses its variables (2 KiB): --sleep stop keeps them",)
    assert not cautions(replace(with_state, request=None))


def test_a_mode_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"power.mode.nap.*: is no mode: there are stop and standby"):
        own_board(tmp_path, "nap")


@pytest.mark.parametrize("board", [name for name in machine_names() if not load_machine(name).power.modes])
def test_a_board_without_figures_says_so(board: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "figure-1", "-m", board, "--period", "1 s", "--sleep", "stop"]) == 2
    error = capsys.readouterr().err
    assert f"--sleep stop: {board} has no figures of that mode" in error and "[power.mode.stop]" in error


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--sleep", "stop"], "--sleep needs --period"),
        (["--domain", "mcu"], "--domain needs --period"),
        (["--period", "1 s", "--sleep", "deep"], "there are wfi, stop, standby"),
        (["--period", "1 s", "--domain", "soc"], "there are board, mcu"),
        (["--set", "power.mode.stop.wakeup=2 s"], "must be a time of at most 1 s"),
        (["--set", "power.mode.stop.current=0 A"], "power.mode.stop.current = 0 A: must be more than 0 A"),
        (["-m", L4, "--set", "power.mode.stop.least=191 uA"], "must be at most power.mode.stop.most, 190 uA"),
    ],
)
def test_what_cannot_be_asked_for(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "figure-1", "-m", G4, *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and text in captured.err


def test_on_the_screen_and_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--battery", "CR2032", "--sleep", "standby", "--show", "timing"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "0.13 µA (standby) asleep" in text and "waking up" in text and "each period" in text
    assert main([*RUN, "--sleep", "stop", "--domain", "mcu", "--json", "-"]) == 0
    period = json.loads(capsys.readouterr().out)["period"]
    assert (period["sleep"], period["domain"], period["sleep_band"]) == ("stop", "mcu", [1.0, 1.0])
    assert period["wake_ms"] == pytest.approx(2.0245) and period["wake_mj"] > 0
    assert main(RUN) == 0 and "--period '1 s' --sleep stop" in " ".join(capsys.readouterr().out.split()).replace(
        "\\ ", ""
    )
    assert main([*RUN[:-1], "30 ms", "--sleep", "stop"]) == 0  # 27 ms and 2 to wake up
    latency = simulate("figure-1", G4).value("latency_ms") or 0.0
    assert main([*RUN[:-1], f"{latency + 1:.3f} ms", "--sleep", "stop"]) == 1
    assert "exceeds" in capsys.readouterr().err
