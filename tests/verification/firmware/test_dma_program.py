"""The test program ``dma`` under observation: it reads one byte early and asks for one impossible burst, on purpose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.api.firmware.verify import FirmwareCase, firmware_case, fuzz_firmware, watch_firmware
from mcusim.commands.app import main
from mcusim.emulator.emulator import Emulator
from mcusim.emulator.stops.stop import Stop
from mcusim.errors import UsageError
from mcusim.kernels.test_programs import program_path
from tests.support.cases import few

BOARDS = {"stm32f469i-disco": "cortex-m4", "stm32f746g-disco": "cortex-m7"}


def case(board: str, **options: str) -> FirmwareCase:
    return firmware_case(program_path("dma", BOARDS[board]), board, **options)


@few(1)
@pytest.mark.parametrize("board", BOARDS)
def test_both_are_found_with_their_lines(board: str) -> None:
    result = watch_firmware(case(board))
    early, refused = result.findings
    assert early.rule == "read-early"
    assert early.place is not None
    assert early.place.source == "dma.c:47"
    assert early.variable == "target + 1020"
    assert early.transfer is not None
    assert early.transfer.started.source == "dma.c:33"
    assert early.transfer.registers["NDTR"] == 256
    assert (refused.rule, refused.source, "FEIF" in refused.text) == ("transfer-error", "dma.c:33", True)
    assert result.wrong == ["2 findings"]


def test_watching_changes_no_cycle() -> None:
    from mcusim import emulate

    board = "stm32f746g-disco"
    watched = watch_firmware(case(board)).run
    assert watched.cycles == emulate(program_path("dma", BOARDS[board]), board).profile.cycles


def test_a_seed_replays_exactly_and_any_number_of_processes_finds_the_same() -> None:
    """The program checks that bytes come with their beats, so that late ones make it end with status 1."""
    one = case("stm32f469i-disco")
    result = watch_firmware(one)
    first, again = (fuzz_firmware(result, one, range(1, 3)) for _ in range(2))
    assert first.to_json() == again.to_json()
    assert [outcome.difference for outcome in first.failed] == ["ended by exit 1 instead of exit 0"] * 2
    assert one.run(1).cycles != one.run(2).cycles


@pytest.mark.parametrize(
    ("options", "status", "error"),
    [
        (["--until", "5000 cycles"], 0, ""),
        ([], 1, "2 findings"),
        (["--until", "0x08000002"], 1, "did not come to 0x08000002"),
        (["--policy", "tinyops"], 2, "--policy is for a program or a model"),
        (["--until", "nowhere"], 2, 'no symbol "nowhere"'),
        (["--seed", "3"], 2, "--seed has no effect"),
        (["--peripherals", "some"], 2, "strict or lenient"),
    ],
)
def test_exit_status(options: list[str], status: int, error: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(program_path("dma", "cortex-m7"))
    assert main(["verify", file, "--machine", "stm32f746g-disco", *options]) == status
    assert error in capsys.readouterr().err


def test_the_options_of_a_firmware_are_not_those_of_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "ds-cnn", "--until", "main"]) == 2
    assert "--until is for a firmware" in capsys.readouterr().err


def test_json_has_place_transfer_and_fix(tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    assert main(["verify", str(program_path("dma", "cortex-m4")), "-m", "stm32f469i-disco", "--json", str(file)]) == 1
    found = json.loads(file.read_text())
    early = found["findings"][0]
    assert early["place"]["function"] == "main"
    assert early["transfer"]["started"]["source"] == "dma.c:33"
    assert early["fix"].startswith("wait for the end")
    assert found["run"]["transfers"] == 4


def test_python_has_it_as_verify_firmware() -> None:
    result = mcusim.verify_firmware(program_path("dma", "cortex-m4"), "stm32f469i-disco", max_instructions=12_000)
    assert [one.rule for one in result.findings] == ["read-early"]
    assert "read-early" in mcusim.table(result)
    assert repr(result).endswith("1 finding>")
    with pytest.raises(UsageError, match="--seed has no effect"):
        mcusim.verify_firmware(program_path("dma", "cortex-m4"), "stm32f469i-disco", seed=1)


def test_ctrl_c_reports_what_was_seen_so_far(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the run itself, and in the second of three seeds."""
    words = ["verify", str(program_path("dma", "cortex-m4")), "-m", "stm32f469i-disco", "--fuzz", "3"]
    run, runs, last = Emulator.run, list[int](), 0

    def interrupted(self: Emulator, *arguments: Any) -> Stop:
        runs.append(len(runs))
        stop = run(self, *arguments)
        if len(runs) == last:
            raise KeyboardInterrupt
        return stop

    monkeypatch.setattr(Emulator, "run", interrupted)
    for number, shown in ((1, "interrupted\n"), (3, "seed 1, interrupted: 1 failed")):
        runs.clear()
        last = number
        assert main(words) == 130
        out = capsys.readouterr().out
        assert shown in out
        assert "1. read-early" in out
