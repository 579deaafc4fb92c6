"""The set tinyengine built for the host, with portable C for the DSP instructions, under ASan and UBSan."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.cases import only_with_all_cases
from tests.support.paths import REPOSITORY

SETS = REPOSITORY / "mcusim" / "kernels" / "sets"
CALLS = REPOSITORY / "tests" / "support" / "kernels" / "host_calls.c"
OWN = ("conv", "conv_1x1", "depthwise", "plain", "add", "fully_connected", "mul", "pool", "pad", "relu")
REFERENCE = ("convolution", "binary", "pool", "move", "unary")
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
CHECKED = ["-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror", *SANITIZED]
WRONG = {  # a fault in a file, which the calls have to notice
    "rounding": ("tinyengine.h", "2 * f->offset + 1", "2 * f->offset"),
    "padding": ("conv.c", "from[n] : (int8_t)-c->input_offset", "from[n] : (int8_t)(1 - c->input_offset)"),
    "beyond": ("plain.c", "left < 4 ? part_of_word(filter, left) : word(filter)", "word(filter)"),
    "average": ("pool.c", "count <= 256", "count <= 4096"),
    "largest": ("pool.c", "larger(found, *at)", "found"),
    "pair": ("depthwise.c", "odd && m == words - 1", "odd && m == words"),
    "behind": ("pad.c", "- left, width", "- left + (left > 3), width"),
    "product": ("mul.c", "c->output_shift ? -1 : 0", "0"),
    "nearest": ("relu.c", "right ? -1 : 0", "0"),
    "overflow": ("fully_connected.c", "(int32_t)((uint32_t)sum + (uint32_t)product)", "sum + product"),
}


def built(folder: Path, sources: Path) -> Path:
    """The program of the calls, made from the set's files in ``sources``."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    include = [f"-I{SETS / 'include'}", f"-I{sources}"]
    jobs = [([*CHECKED, *include], sources / f"{name}.c") for name in OWN] + [([*CHECKED, *include], CALLS)]
    jobs += [(["-O1", "-w", "-fwrapv", *include], SETS / "reference" / f"{name}.c") for name in REFERENCE]
    objects = [str(folder / f"{i}.o") for i in range(len(jobs))]
    running = [
        subprocess.Popen(["gcc", *flags, "-c", str(source), "-o", target])
        for (flags, source), target in zip(jobs, objects, strict=True)
    ]
    assert [process.wait() for process in running] == [0] * len(running)
    subprocess.run(["gcc", "-fsanitize=address,undefined", *objects, "-o", str(folder / "calls")], check=True)
    return folder / "calls"


def called(program: Path, first: int, last: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, str(first), str(last)], capture_output=True, text=True, check=False)


def test_random_calls_are_those_of_the_reference(tmp_path: Path) -> None:
    run = called(built(tmp_path, SETS / "tinyengine"), 0, 4_000)
    assert run.returncode == 0, (run.stdout + run.stderr)[:2000]


@only_with_all_cases
def test_many_random_calls_are_those_of_the_reference(tmp_path: Path) -> None:
    run = called(built(tmp_path, SETS / "tinyengine"), 4_000, 200_000)
    assert run.returncode == 0, (run.stdout + run.stderr)[:2000]


@only_with_all_cases
@pytest.mark.parametrize("fault", WRONG)
def test_a_fault_is_noticed(tmp_path: Path, fault: str) -> None:
    name, right, wrong = WRONG[fault]
    shutil.copytree(SETS / "tinyengine", tmp_path / "set", ignore=shutil.ignore_patterns("*.elf"))
    text = (tmp_path / "set" / name).read_text()
    assert right in text
    (tmp_path / "set" / name).write_text(text.replace(right, wrong))
    assert called(built(tmp_path, tmp_path / "set"), 0, 20_000).returncode != 0
