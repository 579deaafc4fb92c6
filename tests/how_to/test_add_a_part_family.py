"""The part family that docs/pages/how-to/add-a-part-family.md adds, by the files of the page alone."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import mcusim.soc.families as package
from mcusim.machine import Machine, load_machine, parts
from mcusim.soc.families import family
from tests.support.paths import REPOSITORY
from tests.support.programs.register_script import load, poll, run, store

PAGE = (REPOSITORY / "docs" / "pages" / "how-to" / "add-a-part-family.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE))
RCC, PWR, TIM2, CRYP = 0x4002_1000, 0x4000_7000, 0x4000_0000, 0x5006_0000
SET_UP = [
    store(PWR, 1),
    store(RCC + 0x04, 15),  # 16 MHz / 2 * 15
    store(RCC, 0x0100_0001),
    poll(RCC, 0x0200_0000, 0x0200_0000),
    store(RCC + 0x08, 1),
    poll(RCC + 0x08, 4, 12),
]


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    folder = tmp_path / "families"
    shutil.copytree(Path(package.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for title, text in FILES.items():
        path = tmp_path / "z9.toml" if title == "z9.toml" else folder / title.removeprefix("mcusim/soc/families/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(parts, "_FOLDER", folder)
    monkeypatch.setattr(family, "_FOLDER", folder)
    monkeypatch.setattr(package, "__path__", [str(folder)])
    parts.families.cache_clear()
    yield load_machine(tmp_path / "z9.toml")
    parts.families.cache_clear()


def test_the_page_has_the_whole_family() -> None:
    own = {title for title in FILES if title.startswith("mcusim/")}
    assert own == {f"mcusim/soc/families/z9/{name}" for name in ("memory_map.toml", "blocks.toml", "__init__.py")}


def test_firmware_sets_its_clock_up_and_a_timer_counts_by_it(board: Machine, tmp_path: Path) -> None:
    result, words = run(tmp_path, board, [*SET_UP, store(TIM2, 1), load(TIM2 + 0x24), load(0xE004_2000)])
    assert words[0] > 0 and words[1] == 0x1000_6999 and result.findings == ()
    figures = {row.key: row for row in result.set_up.rows}
    assert figures["core.clock"].value == "120 MHz" and "HSI 16 MHz / 2 x 15" in figures["core.clock"].note
    assert not figures["core.clock"].differs


def test_what_it_does_not_describe_is_named(board: Machine, tmp_path: Path) -> None:
    result, _ = run(tmp_path, board, [load(CRYP)])
    assert result.stop.fault is not None and "CRYP + 0x00" in result.stop.fault.text
