"""A firmware's run under observation, from an emulator that is ready to run to its outcome."""

from __future__ import annotations

from collections.abc import Callable

from mcusim.emulator.emulator import Emulator
from mcusim.emulator.stops.stop import Stop
from mcusim.image.image import Image
from mcusim.verification.firmware.diagnosis import FirmwareDiagnosis
from mcusim.verification.firmware.firmware_disturbance import FirmwareDisturbance
from mcusim.verification.firmware.firmware_variables import ProgramVariables
from mcusim.verification.firmware.firmware_verification import FirmwareOutcome
from mcusim.verification.firmware.memory_shadow import Shadow
from mcusim.verification.firmware.watcher import Watcher


def observed(
    emulator: Emulator, image: Image, run: Callable[[], Stop], printed: list[bytes], seed: int | None = None
) -> FirmwareOutcome:
    """Watch ``run`` of ``image`` on ``emulator``, which has it in its memory; ``printed`` collects what it prints.

    ``run`` leaves the DMA controllers up to date. With a ``seed`` the timing is disturbed. Not modelled: what its parts
    do not model.
    """
    variables = ProgramVariables(image)
    shadow = Shadow(emulator)
    disturbance = None if seed is None else FirmwareDisturbance(seed, emulator)
    watcher = Watcher(emulator, shadow, variables, disturbance)
    stop = run()
    low, high = emulator.state.stack_low, emulator.state.stack_top
    places = [(a, b) for a, b in watcher.touched() if b <= low or high <= a]
    memory = tuple((a, shadow.newest(a, b)) for a, b in places)
    diagnosis = FirmwareDiagnosis(emulator, image, shadow, watcher, variables)
    return FirmwareOutcome(
        ended=stop.kind,
        status=stop.status,
        fault=None if stop.fault is None else str(stop.fault.text),
        place=None if stop.fault is None else diagnosis.places.at(stop.fault.pc, watcher.calls()),
        cycles=emulator.cycles,
        instructions=emulator.instructions,
        transfers=watcher.count,
        findings=tuple(diagnosis.findings(stop)),
        output=b"".join(printed),
        memory=memory,
        names=tuple(variables.name(a) or f"memory at {a:#010x}" for a, _ in memory),
        lost=shadow.lost,
        remarks=tuple(
            finding.text if finding.pc is None else f"{diagnosis.places.at(finding.pc).text()}: {finding.text}"
            for finding in emulator.peripherals.findings()
            if finding.rule == "no-answer"
        ),
    )
