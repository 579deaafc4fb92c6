"""`mcusim nas`: what it refuses."""

from __future__ import annotations

import pytest

from mcusim.commands.app import main


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["stats", "--widths", "0.5,x"], '--widths: "x" is no number'),
        (["stats", "--widths", "9"], "--widths: 9 is no width; there are 0.05 to 2"),
        (["stats", "--widths", "1e99999999999"], '--widths: "1e99999999999" is no number'),
        (["stats", "--widths", ""], '--widths: "" is no number'),
        (["stats", "--resolutions", "31"], "--resolutions: 31 is no resolution; there are whole ones from 32"),
        (["stats", "--runtime", "none-such"], "none-such"),
        (["stats", "--ram", "0 B"], "--ram 0 B: must be at least 1 B"),
        (["stats", "--html", "/nowhere/x.html"], "there is no directory /nowhere"),
        (["front", "w0.2"], '"w0.2" is no search space'),
        (["front", "w0.2-r48", "-m", "none-such"], "none-such"),
        (["front", "w0.2-r48", "--runtime", "tflm,none-such"], "none-such"),
        (["front", "w0.2-r48", "--scorer", "best"], '--scorer "best": macs, TABLE.csv or FILE.py:FUNCTION'),
        (["front", "w0.2-r48", "--html", "/nowhere/x.html"], "there is no directory /nowhere"),
    ],
)
def test_errors_of_the_command(arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nas", *arguments]) == 2
    assert error in capsys.readouterr().err
