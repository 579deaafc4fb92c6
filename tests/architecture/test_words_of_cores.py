"""A core's name is written in one place, the table of cores."""

from __future__ import annotations

import re

from mcusim.machine.cores import CORES
from tests.support.imports import FILES, PACKAGE

NAME = re.compile(r"cortex-m\d+")  # in lower case, with a hyphen: as a machine file has it
ALLOWED = {"machine/cores.py"}


def test_cores_are_named_in_their_table_only() -> None:
    named = {path.relative_to(PACKAGE).as_posix(): NAME.findall(path.read_text(encoding="utf-8")) for path in FILES}
    assert {file for file, names in named.items() if names} == ALLOWED


def test_the_rule_would_see_every_name() -> None:
    assert all(NAME.fullmatch(name) for name in CORES)
