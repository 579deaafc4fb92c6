"""The proof: every rule over one program on one machine."""

from __future__ import annotations

from mcusim.machine.description import Machine
from mcusim.program.program import Program
from mcusim.verification.findings import Finding, Findings, TooManyFindings
from mcusim.verification.proof.coherency import Coherency
from mcusim.verification.proof.contents import Contents
from mcusim.verification.proof.dma_limits import Limits
from mcusim.verification.proof.happens_before import Order
from mcusim.verification.proof.last_writer import LastWriter
from mcusim.verification.proof.priority import check_priorities
from mcusim.verification.proof.row_coverage import check_rows


def prove(program: Program, machine: Machine) -> list[Finding]:
    """What is wrong with ``program`` on ``machine``; an empty list is a proof that no timing makes it go wrong.

    Happens-before is the order of each lane and ``after``. At most 1000 findings. Raises ProgramError for a program
    that is none of this machine: an unknown stream, an id twice, an edge from a later task, a transfer whose ends are
    not equally long.

    Not modelled: whether kernels compute the right thing from the right data, code and stack, interrupt handlers of the
    application, and which tensors an operator reads (a program does not say).
    """
    findings = Findings(program)
    try:
        Limits(program, machine, findings)
        order = Order(program.tasks)
        check_rows(program, findings)
        last_writer = LastWriter(program, order, findings)
        contents = Contents(program, last_writer, findings)
        coherency = Coherency(program, machine, order, findings)
        for index in range(len(program.tasks)):
            contents.step(index)
            last_writer.step(index)
            coherency.step(index)
        contents.finish()
        check_priorities(program, order, findings)
    except TooManyFindings:
        pass
    return findings.all()
