"""Programs against a machine: regions, streams, reach, limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcusim.errors import ProgramError
from mcusim.machine import load_machine
from mcusim.program import check_program, read_program
from mcusim.program.program import Compute, Maintain, Operand, Program, Span, Transfer
from tests.support.paths import REPOSITORY

SAMPLE = REPOSITORY / "traces" / "add-second-input.jsonl"


def changed(program: Program, kind: type, **change: object) -> Program:
    """The first task of ``kind`` with fields replaced."""
    victim = next(t for t in program.tasks if isinstance(t, kind))
    return replace(program, tasks=tuple(replace(t, **change) if t is victim else t for t in program.tasks))


SRAM, SDRAM = Span("sram1", 0x2000_0000, 64), Span("sdram", 0xC000_0000, 64)
MISFITS: dict[str, tuple[type, dict[str, object], str]] = {
    "no region": (
        Transfer,
        {"source": Span("moon", 0, 4)},
        "task 0, from: machine .* has no region 'moon'",
    ),
    "outside": (Transfer, {"source": Span("sdram", 0, 4)}, "0x00000000 .4 B. does not start in region 'sdram'"),
    "past": (Maintain, {"span": Span("sram3", 0x2004_FFFC, 8)}, "runs past 'sram3'"),
    "stream": (Transfer, {"lane": "dma2.s9"}, "no stream 'dma2.s9' on stm32f469i-disco, which has dma2.s0"),
    "controller": (Transfer, {"lane": "dma7.s0"}, "no stream 'dma7.s0'"),
    "reach": (Transfer, {"source": Span("ccm", 0x1000_0000, 4)}, "does not reach region 'ccm'"),
    "unequal": (Transfer, {"source": SDRAM, "destination": replace(SRAM, bytes=32)}, "moves 64 B into 32 B"),
    "too much": (
        Transfer,
        {"source": replace(SDRAM, bytes=65_536), "destination": replace(SRAM, bytes=65_536)},
        "65536 B in one transfer; dma2.s1 takes 65535 B at most",
    ),
    "copy to flash": (
        Transfer,
        {"source": SDRAM, "destination": Span("flash", 0x0800_0000, 64)},
        "task 0, to: region 'flash' cannot be written",
    ),
    "output to flash": (
        Compute,
        {"operands": (Operand("output", Span("flash", 0x0800_0000, 4), "w"),)},
        "operand output: region 'flash' cannot be written",
    ),
    "lane": (Compute, {"lane": "dma2.s0"}, "a compute task runs on lane core, not 'dma2.s0'"),
    "later": (Compute, {"after": (10_000,)}, "after names task 10000, which is not an earlier one"),
    "id": (Compute, {"id": 0}, "task 0: the id is used twice"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_program_that_does_not_suit_the_machine(name: str) -> None:
    kind, change, reason = MISFITS[name]
    program = read_program(SAMPLE)
    machine = load_machine("stm32f469i-disco")
    check_program(program, machine)
    if kind is Maintain:
        program = replace(program, tasks=(*program.tasks, Maintain(999, 0, 0, "clean", SDRAM)))
    with pytest.raises(ProgramError, match=reason):
        check_program(changed(program, kind, **change), machine)


def test_a_span_may_run_on_into_the_next_region() -> None:
    program = read_program(SAMPLE)
    across = Maintain(999, 0, 0, "clean", Span("sram1", 0x2002_7FFC, 8))
    check_program(replace(program, tasks=(*program.tasks, across)), load_machine("stm32f469i-disco"))


def test_a_program_for_another_machine() -> None:
    with pytest.raises(ProgramError, match="has no region 'sdram'"):
        check_program(read_program(SAMPLE), load_machine("nucleo-f746zg"))
