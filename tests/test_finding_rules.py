"""The table of rules: each is used, and the guide has those that `verify` looks for."""

from __future__ import annotations

import re

from mcusim.finding_rules import FIRMWARE, MISTAKES, PROGRAM, REGISTERS
from tests.support.imports import FILES
from tests.support.paths import REPOSITORY

GUIDE = (REPOSITORY / "docs" / "pages" / "guide" / "verify.md").read_text(encoding="utf-8")


def test_every_rule_is_looked_for() -> None:
    texts = [path.read_text(encoding="utf-8") for path in FILES if path.name != "finding_rules.py"]
    for rule in {*PROGRAM, *FIRMWARE, *REGISTERS}:
        assert any(f'"{rule}"' in text for text in texts), rule


def test_the_guide_has_the_rules_of_firmware() -> None:
    named = set(re.findall(r"`([a-z-]+)`", GUIDE))
    assert set(FIRMWARE) - set(MISTAKES) <= named and set(MISTAKES) <= set(REGISTERS)
