"""``run``, ``compare`` and ``inspect`` say what flash keeps, and whether it fits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcusim.commands.app import main

Capsys = pytest.CaptureFixture[str]
TINY = ["--set", "memory.flash.size=64 KiB"]


def document(arguments: list[str], capsys: Capsys, status: int = 0) -> dict[str, object]:
    assert main([*arguments, "--json", "-"]) == status
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_run_in_text_json_and_page(tmp_path: Path, capsys: Capsys) -> None:
    page = tmp_path / "run.html"
    assert main(["run", "ds-cnn", "--show", "flash", "--html", str(page)]) == 0
    text = capsys.readouterr().out
    assert "\nFlash\n  flash  72.3 KiB  of 1 MiB (7 %)\n" in text
    assert "assumed runtime: TFLM's core, 16 KB (tensorflow.org/lite/microcontrollers)" in text
    flash = document(["run", "ds-cnn"], capsys)["flash"]
    assert isinstance(flash, dict)
    assert flash["total_bytes"] == sum(part["bytes"] for part in flash["parts"]) == flash["regions"][0]["used"]
    html = page.read_text(encoding="utf-8")
    assert "<h2>Flash</h2>" in html and all(f"{part['bytes']:,} B" in html for part in flash["parts"])


def test_a_tiny_flash_is_status_1_and_says_what_is_over(capsys: Capsys) -> None:
    data = document(["run", "ds-cnn", *TINY], capsys, 1)
    assert isinstance(data["flash"], dict) and isinstance(data["does_not_fit"], dict)
    assert data["does_not_fit"]["region"] == "flash" and not data["flash"]["fits"]
    assert main(["run", "ds-cnn", *TINY, "--show", "flash"]) == 1
    captured = capsys.readouterr()
    assert "what flash keeps (weights 24,376 B" in captured.err and len(captured.err.splitlines()) == 1
    assert "KiB too many)" in captured.out
    assert main(["compare", "ds-cnn", "-m", "stm32f746g-disco", "-p", "internal", *TINY]) == 1
    assert "does not fit flash" in " ".join(capsys.readouterr().out.split())


def test_compare_has_one_line_for_each_model_and_board(capsys: Capsys) -> None:
    assert main(["compare", "ds-cnn"]) == 0
    text = capsys.readouterr().out
    assert text.count("flash, ds-cnn on ") == 2 and "ds-cnn on stm32f469i-disco: 72.2 KiB of 2 MiB in flash" in text


def test_inspect_names_the_boards_whose_flash_is_large_enough(capsys: Capsys) -> None:
    assert main(["inspect", "mobilenet-v1-w1.00-r096"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "nucleo-f746zg: what flash keeps (weights 4,2" in text and "fits the flash of" not in text
    data = document(["inspect", "ds-cnn", "--kernels", "reference"], capsys)["flash"]
    assert isinstance(data, dict) and data["kernels"] == "reference"
    assert len(data["boards"]) == 8 and all(board["fits"] for board in data["boards"])
    one = document(["inspect", "ds-cnn", "-m", "stm32f469i-disco"], capsys)["flash"]
    assert isinstance(one, dict) and [board["core"] for board in one["boards"]] == ["cortex-m4"]


@pytest.mark.parametrize(
    "option", [["-m", "no-board"], ["--kernels", "no-set"], ["-m", "\0"], ["--kernels", "x" * 5000]]
)
def test_wrong_names_are_one_error(option: list[str], capsys: Capsys) -> None:
    assert main(["inspect", "ds-cnn", *option]) == 2
    captured = capsys.readouterr()
    first, *known = captured.err.splitlines()
    assert captured.out == "" and first.startswith("error: ") and all(line.startswith("  ") for line in known)
