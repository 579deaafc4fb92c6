"""An option of a policy is declared in the policy's file, and every face of mcusim has it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.other_processes import LONGEST_WAIT
from tests.support.paths import REPOSITORY

PAGE = (REPOSITORY / "docs" / "pages" / "how-to" / "add-an-option.md").read_text(encoding="utf-8")
FILE = "mcusim/plan/policies/tinyops.py"
USES = """
import contextlib, io, json, pathlib
import mcusim
from mcusim.commands.app import main
from mcusim.run_config.command_line import run_command, settings_options

def said(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*words]) == 0, words
    return out.getvalue()

found, base = {}, ["run", "figure-1", "--policy", "tinyops", "--json", "-"]
found["help"] = said("run", "--help")
found["flag"] = json.loads(said(*base, "--spare", "64 KiB"))["options"]["spare"]
pathlib.Path("mcusim.toml").write_text('[run]\\nspare = "32 KiB"\\n')
found["key"] = json.loads(said(*base))["options"]["spare"]
pathlib.Path("mcusim.toml").unlink()
result = mcusim.simulate("figure-1", "stm32f746g-disco", "tinyops", spare=1024)
found["keyword"] = result.run.header.options["spare"]
found["command"] = run_command("figure-1", settings_options("stm32f746g-disco", {}, result.request.settings))
study = {"models": ["figure-1"], "machines": ["stm32f746g-disco"], "policies": ["tinyops", "internal"],
         "axes": {"spare": ["1 KiB", "none"]}}
found["axis"] = [str(value) for value in mcusim.sweep(study, jobs=1)["spare"]]
found["effect"] = main(["run", "figure-1", "--spare", "1 KiB"])
said("plan", "figure-1", "--policy", "tinyops", "--spare", "2 KiB", "-o", "program.jsonl")
found["program"] = json.loads(pathlib.Path("program.jsonl").read_text().splitlines()[0])["options"]["spare"]
default = json.loads(said(*base))
found["default"] = "spare" in default["options"]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which the page's lines are added, with its compiled code."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("mcusim", "machine_configs", "traces"):
        shutil.copytree(REPOSITORY / name, folder / name)
    path = folder / FILE
    text = path.read_text(encoding="utf-8")
    for before, added in re.findall(r"the first line is in the file -->\n```python\n(.*?\n)(.*?)```", PAGE, re.DOTALL):
        assert text.count(before) == 1, before
        text = text.replace(before, before + added)
    assert "SPARE" in text
    text = text.replace("OPTIONS = (SRAM_BUDGET,", "OPTIONS = (SRAM_BUDGET, SPARE,")
    text = text.replace("choice, names\n", "choice, names, size\n")
    path.write_text(text, encoding="utf-8")
    return folder


def test_one_file_is_changed_and_every_face_has_the_option(tree: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    environment.pop("MCUSIM_NO_CONFIG", None)
    done = subprocess.run([sys.executable, "-c", USES], cwd=tmp_path, env=environment, capture_output=True, text=True,
                          timeout=LONGEST_WAIT, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert "--spare SIZE" in found["help"] and "tinyops" in found["help"]
    assert (found["flag"], found["key"], found["keyword"], found["program"]) == (65536, 32768, 1024, 2048)
    assert "--spare '1024 B'" in found["command"] and found["axis"] == ["1024.0", "nan"] * 2
    assert found["effect"] == 2 and "--spare has no effect under policy internal; it is for tinyops" in done.stderr
    assert not found["default"]
