"""`mcusim tune`: what it refuses."""

from __future__ import annotations

import pytest

from mcusim.commands.app import main

SMALL = "in=4x4x4,kernel=3x3,out=4"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["conv2d-direct"], "its layer is said by --shape"),
        (["ds-cnn", "--shape", SMALL], "--shape is for a template"),
        (["conv2d-direct", "--shape", "in=4x4,out=3"], 'in = "4x4": has 3 sizes'),
        (["conv2d-direct", "--shape", "out=3"], "in is missing"),
        (
            ["conv2d-direct", "--shape", "in=4x4x4,out=3,kernel=9x9,padding=valid"],
            "a window of 9x9 is larger than the input",
        ),
        (["conv2d-direct", "--shape", SMALL, "--tuner", "best"], 'tuner = "best": there are random'),
        (["conv2d-direct", "--template", "depthwise", "--shape", SMALL], '"depthwise" computes no layer of it'),
        (["depthwise", "--shape", "in=4x4x4,out=6"], "out = 6: DEPTHWISE_CONV_2D has a multiple of the input's 4"),
        (["conv2d-direct", "--shape", SMALL, "--apply", "/proc/x/y"], "cannot write into /proc/x/y: No such file"),
        (["conv2d-direct", "--shape", SMALL, "--budget", "3 cycles"], "--budget '3 cycles'"),
        (["ds-cnn", "--layers", "99"], "no layer of int8 weights is 99; there are 0"),
        (["no-such-model"], "no-such-model"),
    ],
)
def test_errors_of_the_command(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", *arguments]) == 2
    error = capsys.readouterr().err
    assert text in error and error.startswith("error: ")
