"""Wheel and source distribution: built, installed where nothing else of the checkout is, and used."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import mcusim
from tests.support.cases import ALL, only_with_all_cases
from tests.support.paths import REPOSITORY

DATA = [
    "mcusim/_data/machine_configs/stm32f746g-disco.toml",
    "mcusim/_data/traces/ping-pong-four-tiles.jsonl",
    "mcusim/measurements/published/published.csv",
    "mcusim/measurements/published/validation.json",
    "mcusim/evidence/validate/ledger.toml",
    "mcusim/kernels/sets/cmsis/manifest.toml",
    "mcusim/kernels/test_programs/elf/conv-cortex-m7.elf",
    "mcusim/labs/overlap.toml",
    "mcusim/py.typed",
    "mcusim/report/html/assets/page.css",
    "mcusim/sweeps/studies/overlays.toml",
]


def run(*words: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of this checkout, with all cases the source distribution too."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", *([] if ALL else ["-t", "wheel"]), "-d", folder, cwd=REPOSITORY)
    return folder


@only_with_all_cases
def test_the_wheel_has_code_and_data_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"mcusim-{mcusim.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert not set(DATA) - set(names)
    sources = {str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "mcusim").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources
    assert {name.partition("/")[0] for name in names} == {"mcusim", f"mcusim-{mcusim.__version__}.dist-info"}


@only_with_all_cases
def test_the_source_distribution_has_tests_and_documentation(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = {"pyproject.toml", "CHANGELOG.md", "docs/mkdocs.yml", "docs/pages/index.md", "tests/docs/test_readme.py"}
    assert not expected - names


def test_the_wheel_works_in_a_fresh_environment(built: Path, tmp_path: Path) -> None:
    """The packages that mcusim needs are those of this environment; mcusim itself is the wheel's."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    install = ["-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-compile"]
    run(sys.executable, *install, wheel, cwd=tmp_path)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    found = [path for path in sys.path if path.endswith("site-packages")]
    (site / "others.pth").write_text("\n".join(found) + "\n", encoding="utf-8")
    command = tmp_path / "venv" / "bin" / "mcusim"
    where = run(python, "-c", "import mcusim; print(mcusim.__file__)", cwd=tmp_path)
    assert where.startswith(str(site))
    built_from = run(python, "-c", "from mcusim.provenance import built_from; print(built_from())", cwd=tmp_path)
    head = run("git", "rev-parse", "HEAD", cwd=REPOSITORY) if (REPOSITORY / ".git").exists() else "None"
    assert built_from.strip().removesuffix("+changes") == head.strip()
    assert "overlap" in run(command, "lab", cwd=tmp_path)
    assert "Memory" in run(command, "machines", "stm32f746g-disco", cwd=tmp_path)
    assert "operators" in run(command, "kernels", cwd=tmp_path)
