"""Verify a program: the static proof, a run under the sanitizer, its outputs against others', and many seeds.

Not modelled: what these do not model (:mod:`mcusim.verification.proof`, :mod:`mcusim.verification.sanitizer.sanitizer`,
:mod:`mcusim.verification.equivalence`, :mod:`mcusim.engine.disturbance`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from mcusim.errors import DoesNotFit, InputError, KernelFault
from mcusim.machine.description import Machine
from mcusim.program.program import Compute, Program
from mcusim.verification.equivalence import with_litert, with_untiled
from mcusim.verification.findings import buffers_at
from mcusim.verification.fuzz import fuzz
from mcusim.verification.proof import Finding, prove
from mcusim.verification.sanitizer.observation import Observation
from mcusim.verification.verification import KERNEL_FAULT, Agreement, Found, Fuzzed, Verification
from mcusim.verification.verified_emulation import Emulation, MacProgress, Outcome

WARM = 1  # what seeds memory and data cache of the run that no seed disturbs


@dataclass
class Verifier:
    """Verifies ``program`` on ``machine``; ``prepare`` makes its emulation, None when it cannot be run.

    ``notes`` say what is not done, and why.
    """

    program: Program
    machine: Machine
    prepare: Callable[[], Emulation] | None = None
    notes: Sequence[str] = ()
    _emulation: Emulation | None = field(default=None, init=False)
    _outcome: Outcome | None = field(default=None, init=False)

    def verify(self, progress: Callable[[int, int], object] | None = None) -> Verification:
        """The static proof, then a run in the state that a second inference finds, and its outputs against others'.

        ``progress`` gets the MACs done, and all there are. Raises InputError and DoesNotFit for what cannot be run,
        unless the proof has findings: then a note says why it was not.
        """
        discoveries = [Found("proof", finding) for finding in prove(self.program, self.machine)]
        notes = self.notes if discoveries else [note.replace("not run:", "proved, not run:", 1) for note in self.notes]
        result = Verification(self.program, self.machine, discoveries, tuple(notes))
        if self.prepare is None:
            return result
        done = MacProgress(self.program, progress, runs=2) if progress is not None else None
        try:
            self._emulation = emulation = self.prepare()
            self._outcome = outcome = emulation.run(WARM, progress=done)
        except (InputError, DoesNotFit) as reason:
            if not discoveries:
                raise
            return replace(result, notes=(*result.notes, f"not run: {reason}"))
        return replace(
            result,
            findings=[*discoveries, *_seen(self.program, outcome)],
            ran=_ran(emulation, outcome),
            untiled=_as_far(with_untiled(emulation, outcome.outputs, done), outcome),
            litert=_as_far(with_litert(emulation, outcome.outputs), outcome),
        )

    def fuzz(
        self,
        result: Verification,
        seeds: Sequence[int],
        processes: int | None = None,
        progress: Callable[[object], object] | None = None,
    ) -> Verification:
        """``result`` of :meth:`verify`, and the outcomes of the disturbances of ``seeds``; unchanged if it was not run.

        A finding that several runs show is listed once, with the first seed. ``processes`` and ``progress`` as in
        :func:`~mcusim.verification.fuzz.fuzz`.
        """
        if self._emulation is None or self._outcome is None or not seeds:
            return result
        outcomes = fuzz(self._emulation, seeds, self._outcome.outputs, processes, progress)
        findings = list(result.findings)
        known = {(f.finding.rule, f.finding.tasks) for f in findings if f.found_by != "proof"}
        for outcome in outcomes:
            for observation in outcome.observed:
                key = observation.finding.rule, observation.finding.tasks
                if key not in known:
                    known.add(key)
                    findings.append(Found("sanitizer", observation, outcome.seed))
        failed = [outcome for outcome in outcomes if outcome.failed]
        return replace(result, findings=findings, fuzzed=Fuzzed(seeds, failed))


def _ran(emulation: Emulation, outcome: Outcome) -> dict[str, object]:
    cycles = None if outcome.run is None else outcome.run.cycles
    return {"kernels": emulation.kernels.name, "cycles": cycles, "start": "warm", "sanitize": emulation.sanitize}


def _as_far(agreement: Agreement, outcome: Outcome) -> Agreement:
    """What was computed before a run ended early says nothing about the rest."""
    if outcome.run is not None or not agreement.equal:
        return agreement
    return replace(agreement, note="the run did not end; what it had computed is the same")


def _seen(program: Program, outcome: Outcome) -> list[Found]:
    discoveries = [Found("sanitizer", observation) for observation in outcome.observed]
    return discoveries if outcome.fault is None else [*discoveries, Found("run", _faulted(program, outcome.fault))]


def _faulted(program: Program, fault: KernelFault) -> Observation:
    """A kernel's fault as a finding: at the address it is about, else where the call puts its outputs."""
    calls = [t for t in program.tasks if isinstance(t, Compute) and t.operator == fault.operator]
    task = next((t for t in calls if t.tile == fault.tile), calls[0])
    output = next(operand.span for operand in task.operands if operand.role == "output")
    low, high = (output.address, output.end) if fault.address is None else (fault.address, fault.address + 1)
    names = buffers_at(program.header.buffers, low, high, {task.operator})
    fix = "give the call the operands and the rows that its operator and tile need, in memory that it may use"
    finding = Finding(KERNEL_FAULT, (task.id,), names, low, high, str(fault), fix)
    buffer = names[0] if names else "?"
    return Observation(
        finding, fault.operator, fault.type, fault.tile, fault.tiles, buffer, low, pc=fault.pc, source=fault.line
    )
