"""Lines through a data sheet's points and the median over submissions are what the machine files have."""

from __future__ import annotations

import csv
import math
import subprocess
import sys
from statistics import fmean, median

import pytest

from mcusim.evidence.calibrate.supply_currents import median_current, scale_lines
from mcusim.measurements.interval.error_model import CURRENT
from tests.support.paths import REPOSITORY


def test_the_widest_setting_gives_the_static_part() -> None:
    """Its points lie on 2 + 0.2 x MHz; the other's slope is (26 - 2) / 100, whatever its place in the table."""
    found = scale_lines({"fast": [(100, 26)], "slow": [(50, 12), (10, 4), (30, 8)]})
    assert found == {"fast": (pytest.approx(2), pytest.approx(0.24)), "slow": (pytest.approx(2), pytest.approx(0.2))}


def test_a_line_needs_two_clocks() -> None:
    with pytest.raises(ValueError, match="two clocks"):
        scale_lines({"one": [(100, 26)]})


def test_each_submission_counts_once() -> None:
    """Middles 10, 20, 40: one with a wide range weighs no more than one with a narrow one."""
    found = median_current({"a": (20, 20), "b": (5, 15), "c": (30, 50)})
    assert (found.middle, found.low, found.high) == (20, pytest.approx(-0.5), pytest.approx(1))


def test_machine_files_have_what_comes_of_the_tables() -> None:
    script = REPOSITORY / "scripts" / "evidence" / "currents" / "compare"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == ("nucleo-l4r5zi, run: median of 9 submissions 24.65 mA, -8.6 % to +19.3 %")


def test_the_interval_s_share_of_the_current_is_that_of_the_submissions() -> None:
    """Root mean square of ln(middle / median) over the table, which has no row that validates."""
    lines = (REPOSITORY / "scripts" / "evidence" / "currents" / "l4r5.csv").read_text(encoding="utf-8").splitlines()
    found = [(float(row["low_ma"]) + float(row["high_ma"])) / 2 for row in csv.DictReader(lines)]
    assert len(found) == 9
    assert math.sqrt(fmean(math.log(one / median(found)) ** 2 for one in found)) == pytest.approx(CURRENT, abs=5e-4)
