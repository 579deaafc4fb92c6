"""Templates that ship: right for any layer and configuration. Templates of users: what can be wrong with one."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from mcusim.errors import InputError, UsageError
from mcusim.machine import load_machine
from mcusim.sessions import compile_module
from mcusim.tuning import trial as trials
from mcusim.tuning.config_space import ConfigSpace, Knob
from mcusim.tuning.layer import Layer, graph_of_shape, layers_of
from mcusim.tuning.template import open_template, template_names
from mcusim.tuning.trial import measure_set, run_trial
from tests.sessions.test_object_file import needs_compiler
from tests.support.cases import sample_size

MACHINES = ("nucleo-f746zg", "stm32f469i-disco", "stm32f746g-disco")
CHANNELS = (1, 2, 3, 4, 5, 7, 8, 12, 16)
WINDOWS = ((1, 1), (3, 3), (5, 5), (2, 3), (1, 4), (4, 1), (7, 7))


def some_layer(dice: random.Random, operator: str, machine: str) -> Layer | None:
    """Of any shape; None where the window does not fit."""
    (kernel_h, kernel_w), depthwise = dice.choice(WINDOWS), operator.startswith("DEPTHWISE")
    shape = {
        "in_h": dice.randrange(1, 13), "in_w": dice.randrange(1, 13), "in_c": dice.choice(CHANNELS),
        "kernel_h": kernel_h, "kernel_w": kernel_w, "stride_h": dice.choice((1, 1, 2, 3)),
        "stride_w": dice.choice((1, 1, 2, 3)),
    }  # fmt: skip
    shape["out_c"] = shape["in_c"] if depthwise else dice.choice((1, 2, 3, 4, 6, 8, 16))
    try:
        graph = graph_of_shape(operator, shape, dice.choice(("SAME", "VALID")))
    except UsageError as error:
        assert "larger than the input" in str(error)
        return None
    return layers_of(graph, load_machine(machine))[0]


@needs_compiler
@pytest.mark.parametrize("name", template_names())
def test_any_configuration_is_right_for_any_layer(name: str) -> None:
    """LiteRT is the reference; half of the layers no more than a few pixels, so that edges are most of it."""
    template, dice = open_template(name), random.Random(name)
    done = 0
    while done < sample_size(400, 4):
        machine = dice.choice(MACHINES)
        layer = some_layer(dice, template.operator, machine)
        if layer is None or template.applies(layer.geometry) is not None:
            continue
        space = template.space(layer.geometry)
        number = space.drawn(np.random.default_rng(dice.randrange(1 << 30)), set())
        assert number is not None
        found = run_trial(layer, load_machine(machine), template, space, space.config(number))
        assert found.result == "ok", (machine, layer.name, space.config(number), found.text)
        assert sum(found.causes.values()) == pytest.approx(found.cycles)
        done += 1


@needs_compiler
def test_a_trial_is_as_the_kernel_sets_are_measured() -> None:
    """The function of a set, loaded as a template's: right, the same again; a default not slower than plain loops."""
    machine = load_machine("nucleo-f746zg")
    graph = graph_of_shape(
        "CONV_2D", {"in_h": 8, "in_w": 8, "in_c": 8, "out_c": 8, "kernel_h": 3, "kernel_w": 3}, "SAME"
    )
    layer, template = layers_of(graph, machine)[0], open_template("conv2d-direct")
    space = template.space(layer.geometry)
    first, again = (run_trial(layer, machine, template, space, space.default) for _ in range(2))
    sets = {name: measure_set(layer, machine, name) for name in ("reference", "cmsis")}
    assert {result.result for result in (first, again, *sets.values())} == {"ok"}
    assert first.cycles == again.cycles and first.causes == again.causes
    assert first.cycles is not None and sets["reference"].cycles is not None
    assert first.cycles <= sets["reference"].cycles


def test_numbers_of_configurations() -> None:
    """Both ways; drawn ones are allowed, each once, until none is left."""
    knobs = (
        Knob("a", "split", (1, 2, 4), 1),
        Knob("o", "order", ("x-y", "y-x"), "x-y"),
        Knob("b", "choice", (0, 7), 0),
    )
    space = ConfigSpace(knobs, ("a <= n + 3 * (o == 1)", "b + o * 7 < 14"), {"n": 2})
    assert space.size == 12 and [space.number(space.config(n)) for n in range(12)] == list(range(12))
    allowed = [
        n for n in range(12)
        if (c := space.config(n)) and (c["a"] in (1, 2) or c["o"] == "y-x") and (c["b"] == 0 or c["o"] == "x-y")
    ]  # fmt: skip
    assert list(space.allowed()) == allowed
    dice, taken = np.random.default_rng(0), set[int]()
    while (number := space.drawn(dice, taken)) is not None:
        assert number not in taken
        taken.add(number)
    assert sorted(taken) == allowed
    with pytest.raises(UsageError, match="a = 3: there are 1, 2, 4"):
        space.number({"a": 3, "o": "x-y", "b": 0})


TEMPLATE = """
title = "a user's"
operator = "CONV_2D"
symbol = "mine"
source = "mine.c"
[knobs.unroll]
kind = "unroll"
values = [1, 2]
"""
RIGHT = """
#include <tuned.h>
int32_t mine(const struct conv_call *c) {
    for (int y = 0; y < OUT_H; y++) for (int x = 0; x < OUT_W; x++) for (int o = 0; o < OUT_C; o++) {
        int32_t sum = c->bias[o];
        for (int i = 0; i < IN_C; i++)
            sum += (((const int8_t *)c->input)[(y * IN_W + x) * IN_C + i] + c->input_offset) * ((const int8_t *)c->filter)[o * IN_C + i];
        ((int8_t *)c->output)[(y * OUT_W + x) * OUT_C + o] =
            clamped(requantised(sum, c->multiplier[o], c->shift[o]) + c->output_offset, c->least, c->most);
    }
    return 0;
}
"""  # noqa: E501


def users(folder: Path, table: str = TEMPLATE, source: str = RIGHT, name: str = "mine.c") -> Path:
    """A user's template."""
    folder.mkdir(exist_ok=True)
    (folder / "template.toml").write_text(table)
    (folder / name).write_text(source)
    return folder


PYTHON = TEMPLATE.replace('source = "mine.c"', 'python = "mine.py"')
OUTCOMES = {
    "ok": (TEMPLATE, RIGHT, "ok", ""),
    "python": (PYTHON, f"def source(config, shape):\n    assert shape['in_c'] == 4\n    return {RIGHT!r}", "ok", ""),
    "no C": (TEMPLATE, "#include <tuned.h>\nint mine(", "compile_error", "error: expected"),
    "no function": (TEMPLATE, "int yours(void) { return 0; }", "compile_error", 'no module has a function "mine"'),
    "undefined": (TEMPLATE, "int x(void); int mine(void) { return x(); }", "compile_error", "undefined: x"),
    "endless": (TEMPLATE, "int mine(void) { for (;;) ; }", "timeout", ""),
    "endless compile": (TEMPLATE, "".join(
        f"#define A{i + 1} A{i} A{i} A{i} A{i} A{i} A{i} A{i} A{i}\n" for i in range(12)
    ) + "int A0 = 0; int mine(void) { A12 }", "timeout", "the compiler did not end within 1 CPU-seconds"),
    "endless source": (TEMPLATE, '#include "/dev/zero"', "compile_error", ""),
    "endless output": (TEMPLATE, '__asm__(".fill 100000000, 4, 7"); int mine(void) { return 0; }', "compile_error", ""),
    "endless python": (PYTHON, "def source(config, shape):\n    while True: pass", "timeout", "its Python did not end"),
    "outside": (
        TEMPLATE, "#include <tuned.h>\nint mine(struct conv_call *c) { ((char *)c->input)[0] = 1; return 0; }", "fault",
        "read-only",
    ),
    "nowhere": (TEMPLATE, "int mine(void) { return *(volatile int *)0xF0000000; }", "fault", "no memory"),
    "stack": (TEMPLATE, "int mine(int n) { volatile char x[4096]; x[n & 7] = 1; return mine(n + 1) + x[3]; }",
              "fault", ""),
    "wrong": (TEMPLATE, RIGHT.replace("sum += (", "sum -= ("), "wrong_output",
              "outputs differ; [0, 0, 0"),
    "an error": (TEMPLATE, "int mine(void) { return 3; }", "fault", "returned 3, an error"),
    "too large": (TEMPLATE.replace("symbol", 'scratch = "9000000"\nsymbol'), RIGHT, "does_not_fit",
                  "no room for 9,000,000 B"),
    "variables": (TEMPLATE, RIGHT.replace("int32_t mine", "int n;\nint32_t mine").replace("return 0", "n++; return 0"),
                  "fault", "read-only"),
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("kind", OUTCOMES)
def test_each_way_a_trial_can_end(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, source, result, text = OUTCOMES[kind]
    monkeypatch.setattr(trials, "PYTHON_SECONDS", 0.3)
    monkeypatch.setattr(compile_module, "LONGEST", 1)
    monkeypatch.setattr(compile_module, "LARGEST_MEMORY", 500 << 20)
    machine = load_machine("nucleo-f746zg")
    layer = layers_of(graph_of_shape("CONV_2D", {"in_h": 3, "in_w": 3, "in_c": 4, "out_c": 4}, "SAME"), machine)[0]
    template = open_template(users(tmp_path / "mine", table, source, "mine.py" if "python" in kind else "mine.c"))
    space = template.space(layer.geometry)
    found = run_trial(layer, machine, template, space, space.default)
    assert found.result == result and text in found.text, found
    assert (found.cycles is not None) == (result == "ok") and "\n" not in found.text


WRONG = """\
title = 3
operator = "SOFTMAX"
symbol = "a b"
source = "none.c"
applies = ["in_h +"]
rules = ["tile <= 3", "unknown > 0"]
speed = 1
[knobs.tile]
kind = "split"
of = "out_q"
[knobs.Up]
kind = "unroll"
values = [1, 1]
[knobs.place]
kind = "placement"
values = ["tcm"]
[knobs.twist]
kind = "twist"
"""


def test_all_that_is_wrong_with_a_template_is_said_at_once(tmp_path: Path) -> None:
    table = WRONG
    with pytest.raises(InputError) as error:
        open_template(users(tmp_path / "mine", table))
    said = "\n".join(error.value.lines)
    for key in ("1: title: must be a text", "3: symbol: ", "7: speed: unknown key", "twist.kind: "):
        assert key in said, (key, said)
    table = table.replace("title = 3", 'title = "x"').replace("a b", "ab").replace("speed = 1\n", "")
    with pytest.raises(InputError) as error:
        open_template(users(tmp_path / "mine", table.partition("[knobs.twist]")[0]))
    said = "\n".join(error.value.lines)
    for key in (
        "operator: ", "source: there is no file none.c", "applies", "knobs.tile.of: ", "knobs.Up: a name is like",
        "knobs.Up.values: has a value twice", "knobs.place.operand: ", "rules",
    ):  # fmt: skip
        assert key in said, (key, said)
    with pytest.raises(UsageError, match="did you mean conv2d-direct"):
        open_template("conv2d-direkt")


def test_a_space_has_numbers(tmp_path: Path) -> None:
    huge = TEMPLATE + "".join(f"[knobs.k{i}]\nkind='choice'\nvalues={list(range(1000))}\n" for i in range(8))
    machine = load_machine("nucleo-f746zg")
    layer = layers_of(graph_of_shape("CONV_2D", {"in_h": 3, "in_w": 3, "in_c": 4, "out_c": 4}, "SAME"), machine)[0]
    with pytest.raises(InputError, match=r"over 2\^62 combinations"):
        open_template(users(tmp_path / "huge", huge)).space(layer.geometry)
