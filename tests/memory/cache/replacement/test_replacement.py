"""Replacement policies: replay and the emulated core's ports displace the same lines as models from the textbook."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mcusim.errors import UsageError
from mcusim.machine.schema import REPLACEMENTS
from mcusim.memory.cache import outside_policy
from mcusim.memory.cache.outside_policy import OUTSIDE, bind
from mcusim.memory.ports import core_data, replay
from mcusim.memory.ports.replay import stream_of
from mcusim.memory.state_layout import AddressRange, CacheState, CodeSweep
from mcusim.memory.system import MemorySystem
from mcusim.plug_ins import load
from tests.support.boards.cache_reference import LINE, Reference
from tests.support.cases import few, sampled
from tests.support.code.single_access_core import F746, board
from tests.support.other_processes import LONGEST_WAIT
from tests.support.paths import REPOSITORY

SDRAM, FLASH, SIZE = 0x6000_0000, 0x0800_0000, 1024
Access = Callable[[MemorySystem, int, bool], None]


def emulated_data(memory: MemorySystem, line: int, write: bool) -> None:
    q = core_data.find(memory.state, SDRAM + line * LINE)
    (core_data.store if write else core_data.load)(memory.state, AddressRange(memory.state, q), SDRAM + line * LINE, 4)


def emulated_code(memory: MemorySystem, line: int, write: bool) -> None:
    core_data.fetch(memory.state, FLASH + line * LINE, LINE)


def replayed_data(memory: MemorySystem, line: int, write: bool) -> None:
    replay.visit(memory.state, stream_of(memory.state, 4, int(write)), SDRAM + line * LINE, 1)


def replayed_code(memory: MemorySystem, line: int, write: bool) -> None:
    sweep = CodeSweep(np.array((FLASH + line * LINE, LINE, 1, 1, 0, LINE, 0), np.int64))
    replay.fetch(memory.state, sweep)


PORTS: dict[str, tuple[Access, bool, int]] = {  # how it accesses, whether the data cache, where
    "emulated data": (emulated_data, True, SDRAM),
    "emulated code": (emulated_code, False, FLASH),
    "replayed data": (replayed_data, True, SDRAM),
    "replayed code": (replayed_code, False, FLASH),
}


def held(memory: MemorySystem, data: bool, ways: int) -> list[list[int | None]]:
    """The line in each way of each set."""
    block = memory.state.data_cache_block if data else memory.state.code_cache_block
    tags = CacheState(memory.state, block).lines.table(SIZE // LINE)["tag"].tolist()
    return [[None if tag < 0 else tag for tag in tags[at : at + ways]] for at in range(0, len(tags), ways)]


def invalidate(memory: MemorySystem, model: Reference, address: int, data: bool) -> None:
    """The line's way is empty from now on, and the next to be filled in its set."""
    if data:
        core_data.maintain_line(memory.state, address, 0, 1)
    else:
        core_data.invalidate_instruction_line(memory.state, address)
    ways = model.sets[address // LINE % len(model.sets)]
    if address // LINE in ways:
        ways[ways.index(address // LINE)] = None


def differs_at(port: str, policy: str, reference: str, ways: int) -> int | None:
    """Number of the access after which the cache under ``policy`` holds other lines than a model of ``reference``."""
    access, data, base = PORTS[port]
    keys = {f"cache__{one}__{key}": value for one in ("data", "instruction")
            for key, value in (("size", f"{SIZE} B"), ("ways", str(ways)), ("replacement", policy))}  # fmt: skip
    memory, model = MemorySystem(board(F746, **keys)), Reference(SIZE, ways, reference)
    draw = random.Random(ways)
    for number in range(1500):
        line, write = int(draw.triangular(0, 4 * SIZE // LINE, 0)), draw.random() < 0.3
        if draw.random() < 0.05:
            invalidate(memory, model, base + line * LINE, data)
        else:
            access(memory, line, write)
            model.access(base + line * LINE, write)
        if held(memory, data, ways) != model.sets:
            return number
    return None


@few(4)
@pytest.mark.parametrize("ways", sampled([4, 2, 8], 1))
@pytest.mark.parametrize("policy", REPLACEMENTS)
@pytest.mark.parametrize("port", PORTS)
def test_every_port_displaces_the_lines_of_the_policy(port: str, policy: str, ways: int) -> None:
    assert differs_at(port, policy, policy, ways) is None


@pytest.mark.parametrize("other", ["lru", "round-robin", "random"])
@pytest.mark.parametrize("policy", REPLACEMENTS)
@pytest.mark.parametrize("port", PORTS)
def test_no_port_displaces_the_lines_of_another_policy(port: str, policy: str, other: str) -> None:
    """As a replayed instruction cache did, which was LRU whatever its policy."""
    if other != policy:
        assert differs_at(port, policy, other, 4) is not None


NEWEST = '''"""The line that was used last goes. Not modelled: anything a core would do."""

from __future__ import annotations

from mcusim.memory.cache.replacement.lru import fill, hit
from mcusim.memory.state_layout import CacheState, CacheLine, MemoryState
from mcusim.native.functions import inlined


@inlined
def victim(memory: MemoryState, cache: CacheState, first: int) -> CacheLine:
    """The youngest line."""
    newest = cache.lines[first]
    for index in range(first, first + cache.ways):
        line = cache.lines[index]
        if line.tag < 0:
            return line
        if line.age > newest.age:
            newest = line
    return newest
'''
PROBE = """
from mcusim.machine import load_machine
from mcusim.memory import state_layout as L
from mcusim.memory.ports import replay
from mcusim.memory.ports.replay import stream_of
from mcusim.memory.system import MemorySystem
keys = {"cache.data.replacement": "newest", "cache.data.size": "128 B", "cache.data.ways": "4"}
memory = MemorySystem(load_machine("stm32f746g-disco", keys))
for line in (0, 1, 2, 3, 4, 5, 0, 1, 2, 5):
    replay.visit(memory.state, stream_of(memory.state, 4), 0x6000_0000 + 32 * line, 1)
print(memory.counters()["dcache_hits"], memory.counters()["dcache_misses"])
"""


def test_a_new_policy_is_one_new_file(tmp_path: Path) -> None:
    """In a copy of the package; its functions run as Python, which shows the same and compiles nothing."""
    shutil.copytree(REPOSITORY / "mcusim", tmp_path / "mcusim", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(REPOSITORY / "machine_configs", tmp_path / "machine_configs")
    (tmp_path / "mcusim" / "memory" / "cache" / "replacement" / "newest.py").write_text(NEWEST, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "MCUSIM_NATIVE": "0"}
    command = [sys.executable, "-c", PROBE]
    done = subprocess.run(
        command, text=True, capture_output=True, timeout=LONGEST_WAIT, check=False, env=environment, cwd=tmp_path
    )
    assert done.stdout.split() == ["4", "6"], done.stderr


HITS = """
def hits(policy):
    keys = {"cache.data.replacement": policy, "cache.data.size": "128 B", "cache.data.ways": "4"}
    memory = MemorySystem(load_machine("stm32f746g-disco", keys))
    for line in (0, 1, 2, 3, 4, 5, 0, 1, 2, 5):
        replay.visit(memory.state, stream_of(memory.state, 4), 0x6000_0000 + 32 * line, 1)
    return memory.counters()["dcache_hits"]
"""


def test_policies_come_from_files_by_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into the stored native code, which is not built again for them."""
    monkeypatch.chdir(tmp_path)
    Path("newest.py").write_text(NEWEST)
    Path("oldest.py").write_text(NEWEST.replace("line.age > newest.age", "line.age < newest.age"))
    lines = "hits('lru'), hits('./newest.py'), hits('lru'), hits('./oldest.py'), hits('./newest.py')"
    imports = PROBE[: PROBE.index("keys =")]
    command = [sys.executable, "-c", f"{imports}{HITS}print({lines})"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, text=True, capture_output=True, timeout=LONGEST_WAIT, check=False, env=environment)
    assert done.stdout == "1 4 1 1 4\n", done.stderr
    shutil.copy("oldest.py", "newest.py")
    assert bind(str(tmp_path / "newest.py")) == bind(str(tmp_path / "oldest.py")) >= OUTSIDE


def test_what_a_file_has_from_elsewhere_is_part_of_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a stored object would be that of another value."""
    file = tmp_path / "policy.py"
    text = NEWEST.replace("\n\n\n@", '\nimport os\n\nSTEP = int(os.environ["STEP"])\n\n\n@')
    file.write_text(text.replace("index in range(first, first + cache.ways)", "index in range(first, first + STEP)"))
    digests = set()
    for step in ("2", "4", "2"):
        monkeypatch.setenv("STEP", step)
        module, _, _ = load(outside_policy.KIND, file)
        digests.add(outside_policy._stored_as(outside_policy._functions(module, "policy")))
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (None, "policy.py: No such file"),
        ("def hit(", "policy.py:1: SyntaxError: .*never closed"),
        (
            NEWEST.replace("first: int", "first: CacheLine"),
            r"has a native function victim\(MemoryState, CacheState, int\) -> CacheLine",
        ),
        (NEWEST.replace("cache.ways", "cache.nothing"), "cannot be compiled: .*has no field 'nothing'"),
        (NEWEST.replace("first: int", "first"), r"has a native function victim\("),
        (NEWEST.replace("@inlined", ""), r"has a native function victim\("),
    ],
)
def test_a_file_without_a_policy_is_refused(source: str | None, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    if source is not None:
        file.write_text(source, encoding="utf-8")
    with pytest.raises(UsageError, match=problem):
        bind(str(file))
