"""Which instructions a core lacks: by hand-checked encodings, and none of those that the other tests decode."""

from __future__ import annotations

import pytest

from mcusim.cpu.decode.decoder import Decoder
from mcusim.cpu.decode.instruction import Instruction
from mcusim.cpu.decode.unsupported import lacked
from tests.support.code import decode_table as decoded
from tests.support.code.lacking_code import DOUBLE, FPV5, NOWHERE, SINGLE

DECODER = Decoder()
FPV4_SP, FPV5_SP, FPV5_DP = (False, False), (True, False), (True, True)


def one(code: str) -> Instruction:
    (instruction,) = DECODER.decode(bytes.fromhex(code), 0x100)
    return instruction


def refusing(code: str) -> list[bool]:
    """Whether FPv4-SP, FPv5-SP and FPv5 with double precision lack it."""
    return [lacked(one(code), *fpu) != "" for fpu in (FPV4_SP, FPV5_SP, FPV5_DP)]


@pytest.mark.parametrize("name", SINGLE)
def test_a_single_precision_unit_loads_stores_and_moves_doubles(name: str) -> None:
    assert refusing(SINGLE[name]) == [False, False, False]


@pytest.mark.parametrize("name", DOUBLE)
def test_double_precision_is_for_units_that_have_it(name: str) -> None:
    assert refusing(DOUBLE[name]) == [True, True, False]
    assert "single precision only" in lacked(one(DOUBLE[name]), *FPV5_SP)


@pytest.mark.parametrize("name", FPV5)
def test_what_came_with_fpv5(name: str) -> None:
    assert refusing(FPV5[name]) == [True, False, False]
    assert "FPv5" in lacked(one(FPV5[name]), *FPV4_SP)


@pytest.mark.parametrize("name", NOWHERE)
def test_other_architectures_are_lacked_by_all(name: str) -> None:
    assert refusing(NOWHERE[name]) == [True, True, True]


def test_no_other_instruction_that_the_decoder_knows_is_lacked() -> None:
    rows = [line.split("|")[0].strip() for line in (decoded.OTHERS + decoded.MEMORY).split("\n") if line]
    assert len(rows) > 150
    assert [one(code).text for code in rows if lacked(one(code), *FPV5_DP)] == []
    left = [one(code) for code in rows if lacked(one(code), *FPV5_SP)]
    assert left and all("f64" in instruction.text for instruction in left)
