"""Processes other than that of the tests: how they are started, which belong together, whether they have ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

LONGEST_WAIT = 900  # seconds, for anything that another process does: a hang ends, a busy machine is waited for

# the tests themselves may run where Ctrl-C is ignored (``nohup``, a background job); a process inherits that
AS_A_TERMINAL = "import os, signal, sys; signal.signal(signal.SIGINT, signal.{}); os.execv(sys.argv[1], sys.argv[1:])"


def children(pid: int) -> list[int]:
    """All processes that the first thread of ``pid`` started."""
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def eventually(what: Callable[[], object]) -> bool:
    """Does ``what`` come true?"""
    end = monotonic() + LONGEST_WAIT
    while monotonic() < end and not what():
        sleep(0.1)
    return bool(what())


def workers(pid: int) -> list[int]:
    """Processes that ``pid`` started and that run mcusim's work: those of a pool, without multiprocessing's helpers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            command = (path.parent / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == pid and b"spawn_main" in command:
            found.append(int(path.parent.name))
    return found


def gone(pids: list[int]) -> bool:
    """Do all of them end?"""
    return eventually(lambda: not any(alive(pid) for pid in pids))


def alive(pid: int) -> bool:
    """Is there such a process, and has it not ended?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def kill(pid: int) -> None:
    """``kill -9``."""
    os.kill(pid, signal.SIGKILL)
