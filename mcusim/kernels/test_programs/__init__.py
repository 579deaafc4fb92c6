"""The test programs that ship with mcusim: ELF files built from ``src/*.c`` by ``scripts/profiles/build_kernels``.

Not modelled: what they do and which functions they offer; ``docs/pages/reference/test-programs.md`` says so.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from mcusim.errors import UsageError
from mcusim.machine.cores import CORES

__all__ = ["BROKEN", "FIRMWARE", "FOLDER", "program_names", "program_path"]

FOLDER = Path(__file__).parent / "elf"
FIRMWARE = FOLDER / "firmware"  # programs with interrupts, to be run from reset
BROKEN = FIRMWARE / "broken"  # firmware ``overlay`` with one fault each


def program_names(isa: str | None = None, folder: Path = FOLDER) -> tuple[str, ...]:
    """Names of the programs of ``folder`` in alphabetical order; only those built for the core ``isa`` if it is given.

    Raises UsageError for a core that no program is built for.
    """
    if isa is not None and isa not in CORES:
        raise UsageError(f"core {isa!r}: test programs are built for {' and '.join(CORES)}")
    suffixes = [f"-{core}" for core in CORES if isa in (None, core)]
    stems = [path.stem for path in folder.glob("*.elf")]
    return tuple(sorted({stem.removesuffix(end) for stem in stems for end in suffixes if stem.endswith(end)}))


def program_path(name: str, isa: str, folder: Path = FOLDER) -> Path:
    """The ELF file of program ``name`` of ``folder`` for the core ``isa``.

    Raises UsageError for a core or a name that does not exist; the text lists those that do.
    """
    names = program_names(isa, folder)
    if name not in names:
        close = get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(f"test program {name!r} for {isa}: {hint}there are {', '.join(names)}")
    return folder / f"{name}-{isa}.elf"
