"""Study files that are damaged or meant to harm: one error, soon, and nothing is run or opened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcusim.errors import StudyError
from mcusim.sweeps import read_study
from mcusim.sweeps.points import points
from mcusim.sweeps.study_file import study_of
from tests.support.boards.sweep_studies import SMALL, write
from tests.support.cases import sample_size

BASE: dict[str, Any] = {"models": ["ds-cnn"], "machines": ["nucleo-l4r5zi"], "policies": ["internal"]}
TEXTS = st.one_of(
    st.sampled_from(
        [
            "ds-cnn",
            "nucleo-l4r5zi",
            "internal",
            "grid",
            "list",
            "latin-hypercube",
            "core.clock",
            "80 MHz",
            "1 KiB",
            "none",
        ]
    ),
    st.text(max_size=12),
)
SCALARS = st.one_of(
    TEXTS, st.booleans(), st.integers(), st.floats(), st.sampled_from([0, 1, -1, 1 << 70, 1e308, float("nan")])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(["low", "high", "step"]), TEXTS), inner, max_size=4),
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(
    ["title", "models", "machines", "policies", "kernels", "fidelity", "axes", "sampling", "derived", "more"]
)
quick = settings(max_examples=sample_size(150, 40), suppress_health_check=[HealthCheck.function_scoped_fixture])


def tried(document: dict[str, Any]) -> None:
    """A study, or a StudyError of one line."""
    try:
        points(study_of((document, {}), "study.toml", None, "study"))
    except StudyError as error:
        assert "\n" not in str(error)
        assert str(error).startswith("study")


@quick
@given(KEYS, VALUES)
def test_any_value_of_any_key(key: str, value: object) -> None:
    tried({**BASE, key: value})


@quick
@given(
    st.sampled_from(["core.clock", "sram_budget", "overlay", "weights", "code", "operator_overhead", "power.run"]),
    VALUES,
    st.fixed_dictionaries({}, optional={"method": TEXTS, "points": SCALARS, "seed": SCALARS, "where": VALUES}),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
)
def test_any_axis_and_sampling(key: str, value: object, sampling: dict[str, Any], derived: dict[str, str]) -> None:
    tried({**BASE, "axes": {key: value}, "sampling": sampling, "derived": derived})


@quick
@given(st.data())
def test_damaged_files(tmp_path: Path, data: st.DataObject) -> None:
    text = bytearray(SMALL.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=4))
    path = tmp_path / "study.toml"
    path.write_bytes(text)
    try:
        points(read_study(path))
    except StudyError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000,
        "a." * 5000 + "a = 1",
        "[axes]\nx = " + "{ a = " * 500,
        "a = " + "9" * 100_000,
        "models = [" + '"ds-cnn",' * 50_000 + "]",
        SMALL.replace('"96 mA"', ",".join(f'"{n} mA"' for n in range(10_001))),
        SMALL.replace("energy_mj * latency_ms", "9**9**9**9"),
        SMALL.replace("energy_mj * latency_ms", "(" * 90 + "1" + ")" * 90),
        SMALL.replace('models = ["ds-cnn"]', 'models = ["/etc/passwd"]'),
        SMALL.replace('models = ["ds-cnn"]', 'models = ["\\u0000"]'),
        SMALL.replace('machines = ["stm32f746g-disco"]', 'machines = ["/dev/zero"]'),
        SMALL.replace('machines = ["stm32f746g-disco"]', 'machines = ["../../../../etc/passwd"]'),
        "\ufeff" + SMALL,
        "x" * 2_000_000,
    ],
    ids=lambda text: repr(text[:24]),
)
def test_harmful_files(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    try:
        study = read_study(path)
    except StudyError as error:
        assert len(str(error)) < 2000
        return
    assert len(points(study)) <= 8  # what looks harmless, and is


def test_names_and_texts_reach_the_table_as_they_are(tmp_path: Path) -> None:
    """No text of a study is a path, markup or code on its way to the metadata."""
    title = json.dumps("</script><b>é\u2028 ${x}")
    study = read_study(write(tmp_path, f"title = {title}\n{SMALL}"))
    assert study.title == json.loads(title)
