"""What ``--kernels`` stands for, by fidelity; and that a run asks once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.errors import InputError, ProgramError, UsageError
from mcusim.kernels.cost.profile import FOLDER
from mcusim.machine import loader
from mcusim.run_config import kernel_choice as module
from mcusim.run_config import settings as settings_module
from mcusim.run_config.kernel_choice import CHANGED, Kernels, require_callable, resolve, shipped_kernels, stands_for
from mcusim.run_config.settings import Settings, settings
from mcusim.runtime.runtime import find_runtime, runtime_names
from tests.support.paths import REPOSITORY

TINY = REPOSITORY / "tests" / "data" / "tiny_set"


def stable(value: object) -> str | None:
    """A test's id without the place of the checkout."""
    return value.replace(f"{REPOSITORY}/", "") if isinstance(value, str) else None


@pytest.mark.parametrize(
    ("name", "fidelity", "profile", "compiled", "planned"),
    [
        ("cmsis-2021-gcc9", "replay", "cmsis-2021-gcc9", None, "cmsis-2021-gcc9"),
        ("cmsis-gcc12", "replay", "cmsis-gcc12", "cmsis", "cmsis-gcc12"),
        ("cmsis-gcc12", "emulate", "cmsis-gcc12", "cmsis", "cmsis-gcc12"),
        ("cmsis", "replay", "cmsis-gcc12", "cmsis", "cmsis"),
        ("cmsis", "emulate", None, "cmsis", "cmsis"),
        ("cmsis", "both", "cmsis-gcc12", "cmsis", "cmsis"),
        ("cmsis", "plan", None, "cmsis", "cmsis"),
        ("cmsis-2021-gcc9", "plan", "cmsis-2021-gcc9", None, "cmsis-2021-gcc9"),
        (str(TINY), "plan", None, "tiny", "tiny"),
        (str(FOLDER / "cmsis-gcc12.toml"), "plan", "cmsis-gcc12", None, "cmsis-gcc12"),
    ],
    ids=stable,
)
def test_a_name_gives_what_the_fidelity_needs(
    name: str, fidelity: str, profile: str | None, compiled: str | None, planned: str
) -> None:
    found = resolve(name, fidelity)
    assert (found.profile.name if found.profile else None, found.set.name if found.set else None) == (profile, compiled)
    assert found.for_planning().name == planned and found.name == name
    assert found.label("ran") == ("ran" if found.shipped else name)
    assert found.shipped is ("/" not in name)


@pytest.mark.parametrize(
    ("name", "fidelity", "text"),
    [
        ("cmsi", "replay", "no kernel profile named 'cmsi'; "),
        ("cmsi", "emulate", "no kernel set \"cmsi\": did you mean 'cmsis'? "),
        ("cmsi", "plan", 'no kernel set "cmsi": '),
        ("cmsi", "both", "no kernel profile named 'cmsi'; "),
        ("cmsis-2021-gcc9", "emulate", "kernels 'cmsis-2021-gcc9' are a cost profile of code that is not here: "),
        ("cmsis-2021-gcc9", "both", "kernels 'cmsis-2021-gcc9' are a cost profile of code that is not here: "),
        (str(TINY), "replay", f"{TINY}: a kernel set given by path has no cost profile to replay; use --fidelity emul"),
        (str(TINY), "both", f"{TINY}: a kernel set given by path has no cost profile to replay; use --fidelity emul"),
        (str(FOLDER / "cmsis-gcc12.toml"), "emulate", f"{FOLDER / 'cmsis-gcc12.toml'}: "),
        ("none.toml", "plan", "kernel profile none.toml: cannot be read: "),
        ("a\0b", "replay", "no kernel profile named "),
    ],
    ids=stable,
)
def test_what_is_missing_is_said(name: str, fidelity: str, text: str) -> None:
    with pytest.raises(InputError) as error:
        resolve(name, fidelity)
    assert str(error.value).startswith(text)


@pytest.mark.parametrize("name", ["tinyengine-mit", "tinyengine-gcc12", "reference-gcc12", "cmsis-2021-gcc9"])
def test_a_copy_of_a_profile_is_taken_as_that(name: str, tmp_path: Path) -> None:
    """By the runtimes that take it."""
    copy = tmp_path / "mine.toml"
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    copy.write_text(text, encoding="utf-8")
    kernels, shipped = resolve(str(copy), "replay"), resolve(name, "replay")
    assert kernels.stands_for == stands_for(str(copy)) == name == shipped.stands_for
    assert not kernels.changed and not shipped.changed and kernels.label(name) == str(copy)
    for runtime in map(find_runtime, runtime_names()):
        if runtime.takes(name):
            require_callable(kernels, runtime)
        else:
            with pytest.raises(UsageError, match=r"mine\.toml"):
                require_callable(kernels, runtime)


def test_costs_of_ones_own_are_of_the_same_engine_and_said(tmp_path: Path) -> None:
    copy, changed = tmp_path / "copy.toml", tmp_path / "changed.toml"
    text = (FOLDER / "reference-gcc12.toml").read_text(encoding="utf-8")
    copy.write_text(text, encoding="utf-8")
    changed.write_text(re.sub(r"(?m)^element = \[(\d)", r"element = [1\1", text), encoding="utf-8")
    shipped, same, other = (
        mcusim.simulate("figure-1", "stm32f746g-disco", kernels=str(kernels))
        for kernels in ("reference-gcc12", copy, changed)
    )
    assert same.interval == shipped.interval
    assert other.interval is not None and shipped.interval is not None
    assert other.interval.situation.code == shipped.interval.situation.code + CHANGED == "reference (changed)"
    assert other.interval.like == 0 and "kernels reference (changed)" in other.interval.not_measured
    assert other.energy is not None and shipped.energy is not None
    ends = [(r.interval.latency_ms, r.energy.latency_ms) for r in (shipped, other) if r.interval and r.energy]
    (low, high), (least, most) = ([end / latency for end in pair] for pair, latency in ends)
    assert least < low and most > high
    program = mcusim.plan_program("figure-1", "stm32f746g-disco", kernels=str(changed))
    with pytest.raises(ProgramError, match="name their file with --kernels"):
        mcusim.replay(program)


def test_a_set_that_no_profile_was_fitted_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "profile_names", lambda: ["cmsis-2021-gcc9"])
    with pytest.raises(UsageError, match=r"^no cost profile was fitted to kernel set 'cmsis': emulate it .* one of"):
        resolve("cmsis", "replay")
    assert resolve("cmsis", "emulate").compiled().name == "cmsis"


def test_kernels_of_a_program_are_shipped_ones() -> None:
    assert shipped_kernels("cmsis") == "cmsis"
    with pytest.raises(ProgramError, match=r"written for kernels '/etc/passwd', which are none of .*cmsis-2021-gcc9, "):
        shipped_kernels("/etc/passwd")


def test_settings_have_the_kernels_and_compare_by_their_name() -> None:
    assert Settings().kernels.cost_profile().name == "cmsis-2021-gcc9"
    one, two = (settings("internal", "cmsis", fidelity=fidelity) for fidelity in ("emulate", "emulate"))
    assert one == two and hash(one) == hash(two) and one.kernels.compiled() is two.kernels.compiled()
    given = Kernels("mine", one.kernels.set, shipped=False)
    assert settings("internal", given, fidelity="emulate").kernels is given


class Counted:
    """Calls of the functions that look kernels and machines up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: dict[str, int] = {}
        for where, name in (
            (settings_module, "resolve"),
            (module, "load_set"),
            (module, "load_profile"),
            (loader, "read_document"),
        ):
            self._count(monkeypatch, where, name)

    def _count(self, monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> None:
        inner = getattr(where, name)

        def counting(*arguments: Any) -> Any:
            self.seen[name] = self.seen.get(name, 0) + 1
            return inner(*arguments)

        monkeypatch.setattr(where, name, counting)


def test_a_run_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    loader.load_shipped.cache_clear()
    counted = Counted(monkeypatch)
    assert mcusim.simulate("figure-1", "stm32f746g-disco", kernels="cmsis", fidelity="emulate").fits
    assert counted.seen == {"resolve": 1, "load_set": 1, "read_document": counted.seen["read_document"]}
    assert counted.seen["read_document"] == 1  # the machine that was measured is the one that was loaded
    counted.seen.clear()
    assert mcusim.simulate("figure-1", "stm32f746g-disco", "tinyops", overrides={"core.clock": "100 MHz"}).fits
    assert counted.seen == {"resolve": 1, "load_profile": 1}


def test_both_fidelities_share_what_was_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcusim.api.fidelity_comparison import simulate_both

    chosen = settings("internal", resolve("cmsis", "both"), fidelity="emulate")
    counted = Counted(monkeypatch)
    graph, machine = mcusim.load_model("figure-1"), mcusim.load_machine("stm32f746g-disco")
    both = simulate_both(graph, machine, chosen)
    assert (both.replay.kernels, both.emulate.kernels) == ("cmsis-gcc12", "cmsis")
    assert not counted.seen.keys() & {"resolve", "load_set", "load_profile"}


def test_a_file_of_the_user_is_read_anew_for_each_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = (FOLDER / "cmsis-2021-gcc9.toml").read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    first = resolve(str(path), "replay").cost_profile()
    path.write_text(text.replace("operator = ", "operator = 1"), encoding="utf-8")
    second = resolve(str(path), "replay").cost_profile()
    assert first.core("cortex-m7").operator != second.core("cortex-m7").operator
