"""The prefetch of the Cortex-M4: each rule in a case where it acts and in the nearest one where it does not.

Cycles are counted by hand from the rules of the module's text; instructions are named as in ``cortex_m4_code``.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim.cpu import state_layout as C
from mcusim.cpu.decode.decoder import Decoder
from mcusim.cpu.pipeline.cortex_m4 import CortexM4
from mcusim.cpu.pipeline.cortex_m4_fetch import AFTER_BRANCH, FULL, STATES
from mcusim.cpu.pipeline.timing import Timing
from tests.support.code.cortex_m4_code import CODE

DECODER, CORE = Decoder(), CortexM4()
FLASH, SRAM = 0x0800_0000, 0x2000_0000
ADD, NARROW, NOP = "add.w r0, r1, r2", "adds r0, r1, r2", "nop"
LDR, LDM, LITERAL = "ldr.w r0, [r1]", "ldm r1, {r4, r5, r6}", "ldr.w r0, [pc, #32]"
WORD, LINE = 4, 16  # bytes that a memory gives the prefetch at once, where literals take turns with it


def timed(*texts: str, at: int, line: int = 0) -> Timing:
    return CORE.schedule(DECODER.decode(bytes.fromhex("".join(CODE[text] for text in texts)), at), line)


def after_a_branch(*texts: str, at: int, line: int = 0) -> int:
    """Cycles of the block behind a taken branch, without that one's refill."""
    timing = timed(*texts, at=at, line=line)
    return timing.cycles + timing.fetched[0][AFTER_BRANCH]


def turn(*texts: str, at: int, line: int = 0) -> int:
    """Cycles of one turn of a loop that its last instruction, found in decode, closes."""
    assert timed(*texts, at=at).found_in_decode
    return after_a_branch(*texts, at=at, line=line) + 1


@pytest.mark.parametrize(
    ("texts", "at", "cycles"),
    [
        # a branch to a wide instruction at an odd halfword
        ([ADD], FLASH, 1),
        ([ADD], FLASH + 2, 2),
        ([NOP], FLASH + 2, 1),
        (["vmla.f32 s0, s1, s2"], FLASH + 2, 4),
        # 16-bit and wide ones in a mixture, one a cycle (Arm's own example in FAQ 103488664)
        ([NOP, ADD, NOP, NOP, ADD], FLASH, 5),
        # three wide ones at odd halfwords (compendium's example), two, and aligned ones
        ([NOP, ADD, ADD, ADD], FLASH, 5),
        ([NOP, ADD, ADD, NOP], FLASH, 4),
        ([ADD, ADD, ADD, ADD], FLASH, 4),
        # a long run waits every third time
        ([NOP, *[ADD] * 5], FLASH, 7),
        ([NOP, *[ADD] * 6], FLASH, 9),
        ([NOP, *["vadd.f32 s0, s1, s2"] * 30], FLASH, 31 + 10),
        # a load's second cycle hides the wait of what follows it, not that of its own third in a row
        ([NOP, ADD, LDR, ADD], FLASH, 5),
        ([NOP, ADD, ADD, LDR], FLASH, 6),
        # one of several cycles in front gives time to fill the buffer, which three in a row still empty
        ([LDM, ADD, ADD], FLASH, 6),
        (["pop {r4, r5}", ADD, ADD], FLASH, 5),
        (["pop {r4, r5}", ADD, ADD, ADD], FLASH, 7),
    ],
)
def test_wide_instructions_wait_only_for_an_empty_buffer(texts: list[str], at: int, cycles: int) -> None:
    assert after_a_branch(*texts, at=at) == cycles


def test_a_full_buffer_lets_the_first_wide_instruction_go() -> None:
    one = timed(ADD, at=FLASH + 2)
    assert one.cycles == 1
    assert one.fetched[0][FULL] == 0
    assert one.fetched[0][AFTER_BRANCH] == 1


@pytest.mark.parametrize(("count", "waits"), [(2, 0), (3, 1), (5, 1), (6, 2)])
def test_what_the_block_before_left_counts(count: int, waits: int) -> None:
    """The run of wide instructions goes over the end of a block, which is a branch not taken."""
    first = timed(NOP, *[ADD] * count, at=FLASH)
    rest = [ADD] * (6 - count)
    left = first.fetched[1][AFTER_BRANCH]
    second = timed(*rest, at=FLASH + 2 + 4 * count) if rest else None
    here = first.cycles + first.fetched[0][AFTER_BRANCH]
    there = second.cycles + second.fetched[0][left] if second else 0
    assert here == 1 + count + waits
    assert here + there == 1 + 6 + 2  # wherever it is cut


@pytest.mark.parametrize(
    ("texts", "at", "cycles"),
    [
        (["subs r0, #1", "beq"], FLASH, 3),  # modm 642, from memory on the I-bus
        (["subs r0, #1", "beq"], SRAM, 4),  # over the system bus
        ([NOP, "subs r0, #1", "beq"], FLASH, 4),  # cortex-m 151, at 16 bytes
        ([ADD, "subs r0, #1", "beq"], FLASH, 4),
        ([ADD, "subs r0, #1", "beq"], FLASH + 2, 5),  # ArduPilot 24635: a cycle in every turn
    ],
)
def test_short_loops(texts: list[str], at: int, cycles: int) -> None:
    assert turn(*texts, at=at) == cycles


@pytest.mark.parametrize(
    ("texts", "cycles"),
    [
        ([NOP] * 8, 1 + 8),  # two halfwords every two cycles; the first word comes one later
        ([ADD] * 4, 1 + 1 + 3 * 2),  # a word every two cycles
        ([NARROW] * 6, 1 + 6),
        (["ldr r0, [r1]", "ldr r2, [r3]"] * 3, 1 + 4 + 3 + 3),  # the third word has the bus behind the fourth load
    ],
)
def test_code_on_the_system_bus(texts: list[str], cycles: int) -> None:
    assert after_a_branch(*texts, at=SRAM) == cycles


@pytest.mark.parametrize(
    ("literals", "dense", "sparse"),
    [
        (1, 0, 0),  # the fetch put off is made up for in the load's own second cycle
        (2, 1, 0),  # pipelined: one second cycle for two fetches put off
        (3, 2, 2),  # two of them before the first instruction behind, whatever its size
    ],
)
def test_literals_of_a_memory_with_one_port_put_fetches_off(literals: int, dense: int, sparse: int) -> None:
    """In dense code, a word a cycle, a fetch that comes late is one that is waited for."""
    for text, late in ((ADD, dense), (NARROW, sparse)):
        alone = literals + 1 + 6
        code = [LITERAL] * literals + [text] * 6
        assert after_a_branch(*code, at=FLASH) == alone
        assert after_a_branch(*code, at=FLASH, line=WORD) == alone + late
        others = [LDR] * literals + [text] * 6  # from another memory than that of the code
        assert after_a_branch(*others, at=FLASH, line=WORD) == alone


@pytest.mark.parametrize(("at", "late"), [(0, 0), (4, 1), (8, 0), (12, 0)])
def test_a_literal_meets_only_the_fetch_that_opens_a_line(at: int, late: int) -> None:
    """The word at 16 is asked for in the first literal's cycle (``at`` 4) and put off by both, in the second one's (0)
    and put off by that, or before them; the second literal's own second cycle makes up for one.
    """
    assert after_a_branch(LITERAL, LITERAL, *[ADD] * 6, at=FLASH + at, line=LINE) == 9 + late


@pytest.mark.parametrize(("wide", "late"), [(0, 0), (1, 1), (2, 1), (6, 1)])
def test_a_loop_of_two_literals_waits_once_it_needs_the_word_put_off(wide: int, late: int) -> None:
    """The word at 16, put off in cycles 0 and 1, is decoded in cycle 4 and issues in 5, one late behind one ADD at 12;
    SUBS and BNE at 12 do without it."""
    two_literals, subs, bne = 3, 1, 2
    loop = [LITERAL, LITERAL, *[ADD] * wide, "subs r0, #1", "beq"]
    assert turn(*loop, at=FLASH + 4) == two_literals + wide + subs + bne
    assert turn(*loop, at=FLASH + 4, line=LINE) == two_literals + wide + subs + bne + late


def test_literals_over_the_system_bus_wait_as_other_data_does() -> None:
    code = [LITERAL, LITERAL, *[ADD] * 6]
    assert after_a_branch(*code, at=SRAM, line=WORD) == after_a_branch(*code, at=SRAM)


@given(
    st.lists(st.sampled_from(sorted(CODE)), min_size=1, max_size=10),
    st.sampled_from([FLASH, FLASH + 2, SRAM, SRAM + 2]),
    st.sampled_from([0, WORD, LINE]),
)
def test_any_block_may_be_entered_in_any_state(texts: list[str], at: int, line: int) -> None:
    costs, leaves = timed(*texts, at=at, line=line).fetched
    assert len(costs) == len(leaves) == STATES <= 1 << C.STATE_BITS
    assert costs[FULL] == 0
    assert all(0 <= cost < 1 << C.STATE_BITS for cost in costs)
    assert all(state < AFTER_BRANCH for state in leaves)


def test_the_native_tables_have_the_state_behind_a_branch_by_its_number() -> None:
    assert C.AFTER_BRANCH == AFTER_BRANCH
