"""Options of a run: every face reads the declaration."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.commands.shared.defaults import NAME, SWITCH
from mcusim.errors import UsageError
from mcusim.results.provenance import run_json
from mcusim.run_config.command_line import run_command, settings_options
from mcusim.run_config.run_options import RUN
from mcusim.run_config.settings import settings
from tests.support.made import figures

BOARD = "stm32f746g-disco"
VALUES: dict[str, Any] = {
    "code": "itcm", "stack_region": "sram2", "operator_overhead": 7, "invocations": 2, "period": "1 s",
    "battery": "CR2032", "sleep": "stop", "domain": "mcu",
}  # fmt: skip


def test_flag_key_keyword_and_printed_command_are_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {*VALUES} == {option.name for option in RUN}
    result = mcusim.simulate("figure-1", BOARD, fidelity="emulate", **VALUES)
    assert result.request is not None
    command = run_command("figure-1", settings_options(BOARD, {}, result.request.settings))
    assert main([*shlex.split(command)[1:], "--json", "-"]) == 0
    printed = json.loads(capsys.readouterr().out)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(SWITCH)
    Path(NAME).write_text("[run]\n" + "".join(f"{o.flag} = {json.dumps(VALUES[o.name])}\n" for o in RUN))
    assert main(["run", "figure-1", "--fidelity", "emulate", "--json", "-"]) == 0
    configured = json.loads(capsys.readouterr().out)
    assert configured["made"] == printed["made"] | {"command": configured["made"]["command"]}
    assert figures(configured) == figures(printed) == figures(run_json(result)) | {"limits": printed["limits"]}
    assert printed["cycles_by_cause"]["runtime"] == 7 * len(result.operators) and len(printed["invocations"]) == 2


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"invocations": "3 "}, None),
        ({"code": "none", "operator_overhead": "none", "period": None}, None),
        ({"operator_overhead": "1.5"}, "operator_overhead = '1.5': must be a whole number from 0 to"),
        ({"code": ""}, "code = '': must be the name of a region"),
        ({"battery": "CR2032"}, "--battery needs --period"),
        ({"period": 1}, "--period 1: must be a text"),
    ],
)
def test_values_are_read_or_refused(given: dict[str, object], text: str | None) -> None:
    if text is None:
        assert settings("internal", None, {}, given).run.values in ((), (("invocations", 3),))
        return
    with pytest.raises(UsageError, match=text):
        settings("internal", None, {}, given)


def test_a_command_without_runs_has_none_of_them() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'invocations'"):
        mcusim.plan_program("figure-1", invocations=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'period'"):
        mcusim.replay("traces/ds-cnn-internal.jsonl", period="1 s")  # type: ignore[call-arg]
