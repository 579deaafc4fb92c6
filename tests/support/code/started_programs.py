"""The shipped test programs, loaded into an emulator and at their start."""

from __future__ import annotations

from mcusim.emulator.emulator import Emulator
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_names, program_path
from tests.support.code import random_thumb as guest

ISAS = ("cortex-m4", "cortex-m7")
ELFS = [(name, isa) for isa in ISAS for name in program_names(isa)]


def started(name: str, isa: str) -> tuple[Emulator, list[bytes]]:
    """An emulator at the start of the program, and where its output goes."""
    output: list[bytes] = []
    emulator = Emulator(guest.MACHINES[isa], output.append)
    emulator.load(load_image(program_path(name, isa)))
    emulator.begin()
    return emulator, output
