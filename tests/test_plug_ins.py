"""Policies and runtimes from outside the package: by path, and from a wheel that is installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim import plug_ins
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.plan import registry
from mcusim.runtime import runtime
from tests.memory.cache.replacement.test_replacement import NEWEST
from tests.support.errors import one_error
from tests.support.paths import REPOSITORY

F746 = "stm32f746g-disco"
POLICY = '''"""``pinned``: as ``internal``, with the weights in the QSPI flash."""
from dataclasses import replace

from mcusim.plan.options import WEIGHTS
from mcusim.plan.registry import find_policy, register


@register("pinned", "weights in the QSPI flash")
def plan(graph, machine, kernels, options):
    program = find_policy("internal").plan(graph, machine, kernels, options.having(WEIGHTS, "qspi"))
    return replace(program, header=replace(program.header, policy="pinned"))
'''
RUNTIME = """from dataclasses import replace

from mcusim.runtime.tflm import RUNTIME as TFLM

RUNTIME = replace(TFLM, name="direct", engines=(), cycles=lambda core: 10)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Both files in the current folder; what is loaded is forgotten."""
    (tmp_path / "pinned.py").write_text(POLICY)
    (tmp_path / "direct.py").write_text(RUNTIME)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plug_ins, "_known", {})
    registry.all_policies()
    policies, runtimes = dict(registry._REGISTERED), dict(runtime._runtimes())
    yield tmp_path
    for kept, before in ((registry._REGISTERED, policies), (runtime._runtimes(), runtimes)):
        kept.clear()
        kept.update(before)


def run(*words: str) -> dict[str, Any]:
    assert main(["run", "figure-1", *words, "--json", "r.json", "--force"]) == 0
    document: dict[str, Any] = json.loads(Path("r.json").read_text())
    return document


def test_a_policy_and_a_runtime_by_path(capsys: pytest.CaptureFixture[str]) -> None:
    document, same = run("--policy", "./pinned.py"), run("--weights", "qspi")
    assert (document["policy"], document["cycles"]) == ("pinned", same["cycles"]) and document["memory"]["weights"] > 0
    [plug_in] = document["made"]["plug_ins"]
    assert (plug_in["kind"], plug_in["name"]) == ("policy", "pinned (pinned.py)") and len(plug_in["sha256"]) == 64
    run("--policy", "./pinned.py")
    assert main(["run", "--again", "r.json"]) == 0
    assert main(["verify", "figure-1", "--policy", "./pinned.py", "--static"]) == 0
    assert main(["compare", "figure-1", "-m", F746, "--policy", "internal,./pinned.py", "--html", "c.html"]) == 0
    assert "pinned" in Path("c.html").read_text()
    assert main(["plan", "figure-1", "--policy", "./pinned.py", "-o", "p.jsonl"]) == 0
    registry._REGISTERED.pop("pinned")
    assert main(["replay", "p.jsonl", "--json", "p.json"]) == 0  # by whom it was planned does not matter
    assert json.loads(Path("p.json").read_text())["cycles"] == document["cycles"]
    direct = run("--runtime", "./direct.py")
    calls = len(mcusim.load_model("figure-1").operators)
    assert direct["runtime"] == "direct" and direct["cycles_by_cause"]["runtime"] == 10 * calls
    assert mcusim.simulate("figure-1", F746, "./pinned.py", runtime="direct").run is not None
    capsys.readouterr()


def test_a_file_that_has_changed_is_loaded_again(folder: Path) -> None:
    before = run("-p", "pinned.py")["cycles"]
    (folder / "pinned.py").write_text(POLICY.replace('"qspi")', '"flash")'))
    after = run("-p", "pinned.py")
    assert after["cycles"] == run()["cycles"] != before
    known = plug_ins.find_known("policy", "pinned")
    assert known is not None and known.sha256 == after["made"]["plug_ins"][0]["sha256"]
    (folder / "pinned.py").write_text("")
    with pytest.raises(UsageError, match="the file has changed since it was loaded"):
        plug_ins.load("policy", known.file, known.sha256)


@pytest.mark.parametrize(
    ("option", "text", "error"),
    [
        ("--policy", "x = 1\ny = 1 / 0\n", "x.py:2: ZeroDivisionError: division by zero"),
        ("--policy", "def f(:\n", "x.py:1: SyntaxError: invalid syntax"),
        ("--policy", "import sys\nsys.exit(3)\n", "x.py:2: SystemExit: 3"),
        ("--policy", "import nothing_of_that_name\n", "x.py:1: ModuleNotFoundError: "),
        ("--policy", "", "x.py: registers no policy; one plan function is decorated with"),
        (
            "--policy",
            POLICY + POLICY.replace('"pinned", "w', '"other", "w'),
            "x.py: registers 2 policies, pinned, other",
        ),
        ("--policy", POLICY.replace('"pinned", "w', '"internal", "w'), "x.py:8: ValueError: two policies are called"),
        ("--policy", POLICY.replace("options.having", "options.nothing"), "x.py:10: AttributeError: "),
        ("--policy", POLICY.replace("return replace", "graph or replace"), "returns a NoneType, not a Program"),
        (
            "--policy",
            POLICY.replace("return replace(program,", "return replace(program, tasks=program.tasks * 2,"),
            "the id is used twice",
        ),
        ("--policy", "\x00", "x.py"),
        ("--runtime", "", "x.py: has no RUNTIME that is a mcusim.runtime.runtime.Runtime"),
        ("--runtime", RUNTIME.replace('"direct"', '"tflm"'), "x.py: the name 'tflm' is that of another runtime"),
        ("--runtime", RUNTIME.replace('"direct"', '"Direct"'), "x.py: the name 'Direct' is not in lower case"),
        ("--runtime", RUNTIME.replace("10)", "core.nothing)"), "runtime direct: x.py:5: AttributeError: "),
    ],
)
def test_a_broken_one_is_one_line(option: str, text: str, error: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.py").write_text(text)
    assert main(["run", "figure-1", option, "./x.py"]) == 2
    assert error in one_error(capsys)
    assert main(["run", "figure-1", option, "./none.py"]) == 2
    assert "./none.py: No such file or directory" in one_error(capsys)
    assert main(["run", "figure-1"]) == 0  # nothing of it is left


def test_what_it_prints_is_not_the_output_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.py").write_text('print("hello")\n' + POLICY.replace("    program", '    print("planning")\n    program', 1))
    assert main(["run", "figure-1", "--policy", "x.py", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["policy"] == "pinned" and captured.err.startswith("hello\nplanning\n")
    Path("x.py").write_text(POLICY.replace('"pinned", "w', '"a b,c", "w'))
    assert main(["run", "figure-1", "--policy", "x.py"]) == 2
    assert "policy 'a b,c': a name has 1 to 40 letters, digits, - and _" in one_error(capsys)


def test_it_is_never_loaded_for_help(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.py").write_text("raise SystemExit(7)\n")
    assert main(["run", "--policy", "./x.py", "--runtime", "./x.py", "--help"]) == 0
    assert "internal" in capsys.readouterr().out


def test_a_study_names_them_relative_to_itself_and_workers_know_them(folder: Path) -> None:
    (folder / "deep").mkdir()
    for name in ("pinned.py", "direct.py"):
        (folder / name).rename(folder / "deep" / name)
    (folder / "deep" / "s.toml").write_text(
        f'models = ["figure-1"]\nmachines = ["{F746}"]\npolicies = ["internal", "./pinned.py"]\n'
        '[axes]\nruntime = ["tflm", "./direct.py"]\nclock = ["100 MHz", "216 MHz"]\n'
    )
    frame = mcusim.sweep("deep/s.toml", "t.parquet", jobs=2)
    assert list(frame.status) == ["ok"] * 8 and set(frame.policy) == {"internal", "pinned"}
    assert set(frame.runtime) == {"tflm", "direct"}
    assert main(["sweep", "t.parquet", "--json", "t.json"]) == 0
    block = json.loads(Path("t.json").read_text())["made"]
    assert [plug_in["kind"] for plug_in in block["plug_ins"]] == ["policy", "runtime"]
    (folder / "deep" / "pinned.py").write_text(POLICY.replace('"qspi")', '"flash")'))
    with pytest.raises(UsageError, match="8 of its 8 points are not of this study"):
        mcusim.sweep("deep/s.toml", "t.parquet", jobs=1)


def test_a_configuration_names_them_relative_to_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = folder / "user"
    (user / "mcusim").mkdir(parents=True)
    (folder / "pinned.py").rename(user / "mcusim" / "pinned.py")
    (user / "mcusim" / "mcusim.toml").write_text('policy = "pinned.py"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user))
    monkeypatch.delenv("MCUSIM_NO_CONFIG")
    assert run()["policy"] == "pinned"


def test_a_replacement_by_path(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "boards").mkdir()
    (folder / "boards" / "newest.py").write_text(NEWEST)
    board = f'extends = "{F746}"\n[cache.data]\nsize = "1 KiB"\nreplacement = "newest.py"\n'
    (folder / "boards" / "mine.toml").write_text(board)
    document = run("-p", "external", "-m", "boards/mine.toml")
    [plug_in] = document["made"]["plug_ins"]
    assert (plug_in["kind"], plug_in["name"]) == ("replacement", "newest (newest.py)")
    assert document["machine_figures"]["cache.data.replacement"]["value"] == "newest.py"
    assert main(["run", "--again", "r.json"]) == 0
    keys = ["--set", "cache.data.size=1 KiB", "--set"]
    lru = run("-p", "external", "-m", F746, *keys, "cache.data.replacement=lru")["cycles"]
    same = run("-p", "external", "-m", F746, *keys, "cache.data.replacement=boards/newest.py")["cycles"]
    assert same == document["cycles"] != lru
    Path("deep").mkdir()
    Path("deep/s.toml").write_text(
        f'models = ["figure-1"]\nmachines = ["{F746}"]\npolicies = ["external"]\n[axes]\n'
        '"cache.data.size" = ["1 KiB", "2 KiB"]\n"cache.data.replacement" = ["lru", "../boards/newest.py"]\n'
    )
    frame = mcusim.sweep("deep/s.toml", "t.parquet", jobs=2)
    assert list(frame.cycles[:2]) == [lru, same] and list(frame.status) == ["ok"] * 4
    (folder / "boards" / "newest.py").write_text(NEWEST.replace("line.age >", "line.age <"))
    with pytest.raises(UsageError, match="4 of its 4 points are not of this study"):
        mcusim.sweep("deep/s.toml", "t.parquet", jobs=1)
    assert run("-p", "external", "-m", "boards/mine.toml")["cycles"] == lru
    capsys.readouterr()
    for text, error in (("none.py", '"none.py": there is no such file'), ("mru", "or the path of a file of your own")):
        assert main(["run", "figure-1", "-m", F746, "--set", f"cache.data.replacement={text}"]) == 2
        assert error in one_error(capsys)
    both = [word for cache in ("data", "instruction") for word in ("--set", f"cache.{cache}.replacement={cache}.py")]
    for cache in ("data", "instruction"):
        Path(f"{cache}.py").write_text(NEWEST)
    assert main(["run", "figure-1", "-m", F746, *both]) == 2
    assert "is another one from outside than cache.data's; both may have the same" in one_error(capsys)


def test_a_file_that_a_command_names_is_not_run_when_it_changed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "own.py").write_text(NEWEST)
    run("-p", "external", "-m", F746, "--set", "cache.data.replacement=own.py")
    assert main(["run", "--again", "r.json"]) == 0
    (folder / "own.py").write_text("raise SystemExit('it is run')\n")
    capsys.readouterr()
    assert main(["run", "--again", "r.json"]) == 2
    assert one_error(capsys) == "error: r.json: its own.py is another file now"
    (folder / "own.py").unlink()
    assert main(["run", "--again", "r.json"]) == 2
    assert "its command names own.py, from the folder that it was run in: No such file" in one_error(capsys)


PAGE = """from mcusim.report.html.pages import RunPage


def cycles(results):
    return f"<p>{results[0].run.cycles} cycles</p>"


PAGE = RunPage("cycles", "cycles alone", cycles)
"""


def test_a_page_by_path(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cycles_page.py").write_text(PAGE)
    cycles = run("--html", "x.html", "--page", "./cycles_page.py")["cycles"]
    assert Path("x.html").read_text() == f"<p>{cycles} cycles</p>"
    capsys.readouterr()
    for old, new, error in (
        ("PAGE =", "OTHER =", "cycles_page.py: has no PAGE that is a"),
        ("results[0].run", "results[0].nothing", "page cycles: cycles_page.py:5: AttributeError: 'Result' object"),
        ('f"<p>', '4 or f"<p>', "page cycles returns a int, not a text"),
    ):
        Path("cycles_page.py").write_text(PAGE.replace(old, new))
        words = ["--html", "y.html", "--page", "./cycles_page.py"]
        assert main(["run", "figure-1", *words]) == 2 and not Path("y.html").exists()
        assert error in one_error(capsys)


def wheel(folder: Path, name: str, group: str, files: dict[str, str]) -> None:
    """A package of ``files`` with the entry points of ``group``, installed into ``folder``."""
    about = f"{name.replace('-', '_')}-1.0.dist-info"
    texts = files | {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": group,
    }
    path = folder.parent / f"{name.replace('-', '_')}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in texts.items():
            archive.writestr(file, text)
        archive.writestr(f"{about}/RECORD", "".join(f"{file},,\n" for file in [*texts, f"{about}/RECORD"]))
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target"]
    subprocess.run([*install, str(folder), str(path)], check=True, capture_output=True)


def mcusim_with(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{Path(mcusim.__file__).parents[1]}"}
    command = [sys.executable, "-m", "mcusim", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_wheel_of_twenty_lines_takes_part_everywhere(folder: Path) -> None:
    site, points = (
        folder / "site",
        "[mcusim.policies]\npinned = pinned_policy\n[mcusim.runtimes]\ndirect = direct_rt:RUNTIME\n"
        "[mcusim.replacements]\nnewest = newest_line\n[mcusim.peripherals]\nthermometer = thermometer\n"
        "[mcusim.pages]\ncycles = cycles_page:PAGE\n[mcusim.labs]\nmy-cache = cycles_page:LAB\n",
    )
    files = {"pinned_policy.py": POLICY, "direct_rt.py": RUNTIME, "newest_line.py": NEWEST}
    pages = REPOSITORY / "docs" / "pages" / "how-to"
    files["cycles_page.py"] = PAGE + "LAB = __file__.replace('cycles_page.py', 'cache.toml')\n"
    for page, name in (("add-a-lab.md", "cache.toml"), ("add-a-peripheral.md", "thermometer.py")):
        block = re.search(r"^```\w+(?: title=.*)?\n(.*?)^```$", (pages / page).read_text(), re.DOTALL | re.MULTILINE)
        assert block is not None
        files[name] = block[1]
    wheel(site, "pinned-policy", points, files)
    compared = mcusim_with(site, "compare", "figure-1", "-m", F746, "--html", "c.html", "--json", "c.json")
    assert compared.returncode == 0 and "pinned takes" in compared.stdout, compared.stderr
    rows = {row["policy"] for row in json.loads(Path("c.json").read_text())["rows"]}
    assert rows == {"internal", "external", "tinyops", "pinned"}
    assert "pinned" in Path("c.html").read_text()
    assert mcusim_with(site, "verify", "figure-1", "--policy", "pinned", "--static").returncode == 0
    Path("s.toml").write_text(
        f'models = ["figure-1"]\nmachines = ["{F746}"]\npolicies = ["pinned"]\n[axes]\n'
        'runtime = ["tflm", "direct"]\nclock = ["50 MHz", "100 MHz"]\n"cache.data.replacement" = ["lru", "newest"]\n'
    )
    swept = mcusim_with(site, "sweep", "s.toml", "--jobs", "2", "--json", "s.json")
    assert swept.returncode == 0, swept.stderr
    document = json.loads(Path("s.json").read_text())
    assert {row["status"] for row in document["rows"]} == {"ok"} and len(document["rows"]) == 8
    board = f'extends = "{F746}"\n[peripherals.T]\nbase = 0x4000_6000\nsize = "1 KiB"\nkind = "thermometer"\n'
    Path("board.toml").write_text(board)
    shown = mcusim_with(site, "run", "figure-1", "-m", "board.toml", "--html", "p.html", "--page", "cycles")
    assert shown.returncode == 0 and "cycles</p>" in Path("p.html").read_text(), shown.stderr
    assert "my-cache" in mcusim_with(site, "lab").stdout
    assert {plug_in["name"] for plug_in in document["made"]["plug_ins"]} == {
        "pinned (pinned-policy)",
        "direct (pinned-policy)",
        "newest (pinned-policy)",
    }


def test_installed_packages_that_are_in_the_way(folder: Path) -> None:
    site = folder / "site"
    wheel(
        site, "shadow", "[mcusim.policies]\ninternal = shadow_policy\n", {"shadow_policy.py": "raise SystemExit(7)\n"}
    )
    done = mcusim_with(site, "compare", "figure-1", "-m", F746)
    assert done.returncode == 2 and done.stderr == (
        "error: policy 'internal' of shadow has the name of one that ships: rename it, or uninstall that\n"
    )
    assert mcusim_with(site, "run", "--help").returncode == 0
    other = folder / "other"
    wheel(other, "broken", "[mcusim.policies]\nbroken = broken_policy\n", {"broken_policy.py": "\n1 / 0\n"})
    done = mcusim_with(other, "run", "figure-1", "--policy", "broken")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "policy broken of broken: " in done.stderr and "broken_policy.py:2: ZeroDivisionError" in done.stderr
