"""What holds for every test: which are exhaustive, how many processes run them, what they cost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.exhaustive import exhaustive

# tests start some hundred interpreters: each would compile the package anew
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["MCUSIM_NO_CONFIG"] = "1"  # a user's file changes no test

# the same examples in every run, however busy the machine is; `--hypothesis-profile default` looks for new ones
settings.register_profile(
    "repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

_START = pytest.StashKey[float]()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """A worker for each core; none where some tests are named: those run sooner than workers start."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.keyword
    return 0 if named else None


def pytest_configure(config: pytest.Config) -> None:
    """Native code is compiled once, before workers would each do it; a test that is named by its id runs."""
    if config.getoption("numprocesses", None) and not config.option.collectonly:
        subprocess.run([sys.executable, "-m", "mcusim.native"], cwd=config.rootpath, check=False)
    if any("::" in argument for argument in config.args) and config.option.markexpr == "not exhaustive":
        config.option.markexpr = ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    names = exhaustive()
    for item in items:
        if str(item.config.rootpath) in item.nodeid:
            raise pytest.UsageError(f"a test's id has the place of the checkout in it: {item.nodeid}")
        if item.nodeid in names or item.nodeid.partition("[")[0] in names:
            item.add_marker(pytest.mark.exhaustive)


def _processor_seconds() -> float:
    """User and system time of this process and of the children it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    item.stash[_START] = _processor_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    if call.when == "teardown":  # the property "cpu" of a junit file: seconds of set-up, test and teardown
        item.user_properties.append(("cpu", f"{_processor_seconds() - item.stash[_START]:.3f}"))
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The sum of the properties "cpu": what all tests cost, whatever else the machine did."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    spent = [
        float(dict(report.user_properties)["cpu"]) for report in reports if getattr(report, "when", "") == "teardown"
    ]
    terminalreporter.write_line(f"{sum(spent):.0f} s of the processor in {len(spent):,} tests")
