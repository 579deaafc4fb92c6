"""Damaged templates: each trial ends in one of its results, or the template in one error."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import get_args

import numpy as np

from mcusim.errors import McusimError
from mcusim.machine import load_machine
from mcusim.tuning.layer import graph_of_shape, layers_of
from mcusim.tuning.template import FOLDER, open_template
from mcusim.tuning.trial import Outcome, run_trial
from tests.sessions.test_object_file import needs_compiler
from tests.support.cases import sample_size
from tests.tuning.test_templates import users

SHAPE = {"in_h": 5, "in_w": 5, "in_c": 4, "out_c": 4, "kernel_h": 3, "kernel_w": 3}
PIECES = (
    "0",
    "1",
    "-",
    "+",
    "*",
    "7",
    "9999999",
    "<",
    ";",
    "!",
    "&",
    "[",
    "out_c",
    "c->scratch",
    "'x'",
    "\0",
    "é",
    "//",
)


def damaged(text: str, dice: random.Random) -> str:
    """Some characters replaced, left out or doubled."""
    for _ in range(dice.choice((1, 1, 2, 5))):
        place = dice.randrange(len(text))
        part = dice.choice((dice.choice(PIECES), "", text[place : place + 9] * 2))
        text = text[:place] + part + text[place + dice.randrange(3) :]
    return text


@needs_compiler
def test_damaged_templates_end_in_a_result_or_an_error(tmp_path: Path) -> None:
    machine, dice, ends = load_machine("nucleo-f746zg"), random.Random(9), Counter[str]()
    layer = layers_of(graph_of_shape("CONV_2D", SHAPE, "SAME"), machine)[0]
    table = (FOLDER / "conv2d-direct" / "template.toml").read_text()
    source = (FOLDER / "conv2d-direct" / "kernel.c").read_text()
    for number in range(sample_size(500, 15)):
        in_table = number % 3 == 0
        folder = users(
            tmp_path / "mine", damaged(table, dice) if in_table else table,
            source if in_table else damaged(source, dice), "kernel.c",
        )  # fmt: skip
        try:
            template = open_template(folder)
            space = template.space(layer.geometry)
            drawn = space.drawn(np.random.default_rng(number), set())
            found = run_trial(layer, machine, template, space, space.config(drawn or 0))
            assert found.result in get_args(Outcome) and "\n" not in found.text
            ends[found.result] += 1
        except McusimError as error:
            assert "\n" not in str(error)
            ends["error"] += 1
    assert ends["ok"] and ends["compile_error"] and ends["error"], ends
