"""Where the kernels' code is: what a replay prices against what the emulation of the same code takes."""

from __future__ import annotations

from functools import cache

import pytest

from mcusim import simulate
from mcusim.engine.execute import code_address
from mcusim.errors import UsageError
from mcusim.machine import load_machine
from tests.support.cases import few, only_with_all_cases

F469, F746, H743 = "stm32f469i-disco", "stm32f746g-disco", "nucleo-h743zi"


def holds_code(board: str) -> list[str]:
    """Regions that can hold code and are not full of something else."""
    found = []
    for name in load_machine(board).memory:
        try:
            code_address(load_machine(board), name)
        except UsageError:
            continue
        found.append(name)
    return found


@cache
def cycles(board: str, code: str, kernels: str, fidelity: str) -> int:
    run = simulate("ds-cnn", board, code=code, kernels=kernels, fidelity=fidelity).run
    assert run is not None
    return run.cycles


@few(2)
@pytest.mark.parametrize(("board", "code"), [(F469, "qspi"), (F469, "sram3"), (F746, "qspi")])
def test_a_replay_is_as_slow_as_the_memory_of_its_code(board: str, code: str) -> None:
    emulated = cycles(board, code, "cmsis", "emulate")
    assert cycles(board, code, "cmsis-gcc12", "replay") == pytest.approx(emulated, rel=0.05)
    assert cycles(board, code, "cmsis-2021-gcc9", "replay") == pytest.approx(emulated, rel=0.15)


@only_with_all_cases
@pytest.mark.parametrize(
    ("board", "code"), [(board, code) for board in (F469, F746, H743) for code in holds_code(board)]
)
def test_so_it_is_in_every_memory(board: str, code: str) -> None:
    test_a_replay_is_as_slow_as_the_memory_of_its_code(board, code)


@few(1)
@pytest.mark.parametrize("kernels", ["cmsis-2020", "cmsis-nano", "cmsis-2020-os", "reference"])
def test_so_are_other_sets(kernels: str) -> None:
    for code in ("sram3", "qspi"):
        assert cycles(F469, code, f"{kernels}-gcc12", "replay") == pytest.approx(
            cycles(F469, code, kernels, "emulate"), rel=0.05
        )


@pytest.mark.parametrize("fidelity", ["replay", "emulate"])
@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("ccm", "ccm of stm32f469i-disco cannot hold code: it is executable = false"),
        ("sdram", "sdram of stm32f469i-disco cannot hold code: it is device memory, from which no code runs"),
    ],
)
def test_memory_from_which_no_code_runs_is_refused(code: str, says: str, fidelity: str) -> None:
    kernels = "cmsis" if fidelity == "emulate" else "cmsis-gcc12"
    with pytest.raises(UsageError, match=says):
        simulate("ds-cnn", F469, code=code, fidelity=fidelity, kernels=kernels)
