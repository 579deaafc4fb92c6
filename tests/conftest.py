"""What holds for every test: which of them run, in how many processes, and what they cost."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Generator
from itertools import groupby
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.changed import tests_of_changes
from tests.support.pages.browser import browser

__all__ = ["browser"]

# tests start some hundred interpreters: each would compile the package anew
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["MCUSIM_NO_CONFIG"] = "1"  # a user's file changes no test
os.environ["SOURCE_DATE_EPOCH"] = "1700000000"  # when what tests write was made

_START = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--changed", action="store_true", help="the tests of what differs from the branch main")
    parser.addoption("--all-cases", action="store_true", help="every case of every family, not a sample: half an hour")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """A worker for each core; none where some tests are named: those run sooner than workers start."""
    named = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.keyword
    return 0 if named else None


def pytest_configure(config: pytest.Config) -> None:
    """All cases or a sample; what has changed; native code is compiled once, before workers would each do it."""
    if config.option.all_cases:
        os.environ["MCUSIM_ALL_CASES"] = "1"  # before tests/support/cases.py is imported, here and in each worker
    # the same examples in every run, however busy the machine is; `--hypothesis-profile default` looks for new ones
    settings.register_profile(
        "repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow],
        max_examples=100 if config.option.all_cases else 30,
    )  # fmt: skip
    if config.getoption("--hypothesis-profile") is None:
        settings.load_profile("repeatable")
    if config.option.changed and not hasattr(config, "workerinput"):
        config.args = tests_of_changes()
        if not config.args:
            pytest.exit("nothing differs from main", returncode=0)
    if config.getoption("numprocesses", None) and not config.option.collectonly:
        subprocess.run([sys.executable, "-m", "mcusim.native"], cwd=config.rootpath, check=False)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases as :mod:`tests.support.cases` says; a test that is named by its id runs."""
    if not config.option.all_cases and not any("::" in argument for argument in config.args):
        kept: list[pytest.Item] = []
        for function, family in groupby(items, key=lambda item: getattr(item, "function", None)):
            cases = list(family)
            most = min(len(cases), getattr(function, "most_cases", len(cases)))
            kept += [cases[i * len(cases) // most] for i in range(most)]
        items[:] = kept
    for item in items:
        if str(item.config.rootpath) in item.nodeid:
            raise pytest.UsageError(f"a test's id has the place of the checkout in it: {item.nodeid}")


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not go through it at every turn."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # what tests leave behind is seldom worth a look at all that is alive


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
