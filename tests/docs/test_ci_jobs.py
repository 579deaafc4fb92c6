"""The jobs of docs/pages/guide/ci.md: they are YAML, and their commands do what the page says, on a repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.paths import REPOSITORY, shared_model

PAGE = (REPOSITORY / "docs/pages/guide/ci.md").read_text(encoding="utf-8")
JOBS: dict[str, Any] = {
    title: yaml.safe_load(text)
    for title, text in re.findall(r'^```yaml title="([^"]+)"\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE)
}
GITHUB, GITLAB = ".github/workflows/mcusim.yml", ".gitlab-ci.yml"
SMALL, LARGE = "hello_world_int8.tflite", "kws_ref_model.tflite"


def scripts(title: str) -> list[str]:
    """What the job runs, step by step, in order."""
    if title == GITLAB:
        return ["\n".join(JOBS[title]["mcusim"]["script"])]
    steps = JOBS[title]["jobs"]["board"]["steps"]
    return [step["run"].replace("${{ github.event.number }}", "7") for step in steps if "run" in step]


def variables(title: str) -> dict[str, str]:
    return dict(JOBS[title]["env"] if title == GITHUB else JOBS[title]["mcusim"]["variables"])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of a repository whose main branch has the small network as model.tflite; ``pip`` and ``gh`` that only say
    what they were called with."""
    origin, clone, tools = tmp_path / "origin", tmp_path / "clone", tmp_path / "tools"
    for folder in (origin, tools):
        folder.mkdir()
    for name in ("pip", "gh"):
        (tools / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "{tmp_path}/called"\n')
        (tools / name).chmod(0o755)
    (origin / "model.tflite").write_bytes(shared_model(SMALL).read_bytes())
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-qm", "model"]):
        subprocess.run(["git", *words], cwd=origin, check=True, capture_output=True)
    subprocess.run(["git", "clone", "-q", str(origin), str(clone)], check=True, capture_output=True)
    return clone


def play(title: str, clone: Path) -> list[int]:
    """Status of each step, the one that fails being the last but for those that always run."""
    path = f"{clone.parent / 'tools'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    branch = {"GITHUB_BASE_REF": "main", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
    environment = {**os.environ, **variables(title), **branch, "PATH": path}
    statuses = list[int]()
    for script in scripts(title):
        if any(statuses) and not script.startswith("gh "):
            continue
        done = subprocess.run(
            ["bash", "-eu", "-c", script], cwd=clone, env=environment, check=False, capture_output=True
        )
        statuses.append(done.returncode)
    return statuses


@pytest.mark.parametrize("title", [GITHUB, GITLAB])
def test_a_pull_request_that_changes_nothing_passes(title: str, checkout: Path) -> None:
    assert not any(play(title, checkout))
    comment = (checkout / "comment.md").read_text().splitlines()
    assert comment[0] == "**mcusim, model on nucleo-g474re: nothing takes longer or less**" and len(comment) <= 10
    called = (checkout.parent / "called").read_text()
    assert "pip install mcusim\n" in called and ("gh pr comment 7" in called) == (title == GITHUB)


@pytest.mark.parametrize("title", [GITHUB, GITLAB])
def test_one_that_makes_it_slower_fails_and_says_so(title: str, checkout: Path) -> None:
    (checkout / "model.tflite").write_bytes(shared_model(LARGE).read_bytes())
    statuses = play(title, checkout)
    assert statuses == ([0, 0, 0, 1, 0] if title == GITHUB else [1])
    comment = (checkout / "comment.md").read_text()
    assert comment.startswith("**mcusim, model on nucleo-g474re: exceeds latency +5 %: latency ")
    assert "; sram +1 KiB: " in comment and len(comment.splitlines()) <= 10 and "\n| SRAM | " in comment


def test_one_that_does_not_fit_fails_at_once(checkout: Path) -> None:
    (checkout / "model.tflite").write_bytes(shared_model("person_detect.tflite").read_bytes())
    assert play(GITHUB, checkout) == [0, 1, 0] and not (checkout / "comment.md").exists()
