"""Runs damaged programs in a process of its own: ``python stream_batch.py bytes|elves ISA FIRST COUNT`` prints JSON.

A crash of the interpreter is then the process's exit status, not the end of the tests.
"""

from __future__ import annotations

import json
import random
import resource
import sys
from pathlib import Path

from mcusim.emulator.emulator import Emulator
from mcusim.emulator.profile import profile
from mcusim.emulator.stops.stop import Stop
from mcusim.errors import McusimError
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_names, program_path
from tests.support.code import random_thumb as guest

LIMIT = 20_000
CODE = 0x0800_0200


def most_memory() -> int:
    """KiB that this process has had at most; ``ru_maxrss`` would count what its parent had when it was started."""
    status = Path("/proc/self/status")
    if status.is_file():
        return int(status.read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def random_code(isa: str, seed: int) -> Emulator:
    """4 KiB of random bytes as code, in flash or in RAM; the registers point into memory or anywhere."""
    chance = random.Random(f"{isa} {seed}")
    address = chance.choice([CODE, guest.RAM + 0x4000])
    emulator = Emulator(guest.MACHINES[isa])
    emulator.write(address, chance.randbytes(4096))
    for i in range(13):
        near = chance.choice([guest.RAM, guest.RAM + 0x8000, guest.FLASH, 0xE000_E000, 0x4002_3800])
        emulator.core[f"r{i}"] = near + chance.randrange(0x2000) if chance.random() < 0.8 else chance.getrandbits(32)
    emulator.set_stack(guest.STACK, guest.STACK - 0x1000)
    emulator.call(address)
    return emulator


def damaged_elf(isa: str, seed: int) -> Emulator:
    """A test program, up to 40 bytes of its code flipped after loading."""
    chance = random.Random(f"{isa} elf {seed}")
    image = load_image(program_path(chance.choice(program_names(isa)), isa))
    emulator = Emulator(guest.MACHINES[isa])
    emulator.load(image)
    emulator.begin()
    code = next(s for s in image.segments if s.executable)
    for _ in range(chance.randrange(1, 40)):
        at = code.load_address + 0x40 + chance.randrange(min(len(code.data), 3000) - 0x40)
        emulator.write(at, bytes([emulator.read(at, 1)[0] ^ 1 << chance.randrange(8)]))
    return emulator


def described(emulator: Emulator, stop: Stop) -> dict[str, object]:
    fault = stop.fault
    found = profile(emulator)
    return {
        "kind": stop.kind,
        "faults": sorted({one.fault.kind for one in emulator.faults.taken} | ({fault.kind} if fault else set())),
        "text": fault.text if fault else "",
        "instructions": emulator.instructions,
        "cycles": emulator.cycles,
        "causes": sum(found.causes.values()),
    }


def main(what: str, isa: str, first: int, count: int) -> None:
    build = {"bytes": random_code, "elves": damaged_elf}[what]
    results = []
    for seed in range(first, first + count):
        try:
            emulator = build(isa, seed)
            results.append(described(emulator, emulator.run(max_instructions=LIMIT)))
        except McusimError as error:
            results.append({"kind": "error", "text": str(error), "seed": seed})
    print(json.dumps({"results": results, "kib": most_memory()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
