"""How fast points are, and that a process does not grow with them."""

from __future__ import annotations

import subprocess
import sys
from time import process_time
from typing import Any

from mcusim.sweeps.point import forget, perform
from mcusim.sweeps.points import points
from mcusim.sweeps.study_file import study_of
from mcusim.sweeps.sweep import prepared

PACE = 0.2  # seconds of the processor a point: 0.15 measured, and what a computer with other work adds


def test_ten_points_a_second_and_core() -> None:
    """Points of the network that the pace is promised for, under each policy, none of which shares its run."""
    text: dict[str, Any] = {
        "models": ["proxyless-w0.25-r160"],
        "machines": ["stm32f746g-disco"],
        "policies": ["internal", "external", "tinyops"],
        "axes": {"core.clock": ["216 MHz", "200 MHz", "180 MHz"]},
    }
    study = study_of((text, {}), "study", None, "study")
    work, found = prepared(study), [(str(n), point) for n, point in enumerate(points(study))]
    perform(work, (found[0], found[3], found[6]))  # loads native code
    times = []
    for _ in range(3):  # the best of them: another program disturbs one more than another
        forget()
        began = process_time()
        rows = perform(work, tuple(found))
        times.append((process_time() - began) / len(rows))
        assert [row["status"] for _, row in rows] == ["ok"] * 9
    assert min(times) < PACE


GROWTH = """
from pathlib import Path
from mcusim.sweeps.point import perform
from mcusim.sweeps.points import points
from mcusim.sweeps.sweep import prepared
from mcusim.sweeps.study_file import study_of

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

text = {"models": ["ds-cnn"], "machines": ["stm32f746g-disco"], "policies": ["internal"], "axes": {"core.clock": [
    f"{100_000 + n} kHz" for n in range(400)]}}
study = study_of((text, {}), "study", None, "study")
work, found = prepared(study), points(study)
for n, point in enumerate(found):
    [(_, row)] = perform(work, ((str(n), point),))
    assert row["status"] == "ok"
    if n == 100:
        before = resident()
print(resident() - before)
"""


def test_a_process_does_not_grow() -> None:
    done = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < 4 << 20  # of some 200 MiB
