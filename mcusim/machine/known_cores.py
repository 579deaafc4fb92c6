"""The cores that a machine file may name, as the floor that models them (:mod:`mcusim.cpu.cores`) has entered them.

Not modelled: anything of a core but its name, the width of its bus and what its floating-point unit may have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from mcusim.errors import MachineError

__all__ = ["KnownCore", "core_names", "data_bus", "double_precision", "enter", "unknown_core"]


class KnownCore(Protocol):
    """What a machine's memory system wants to know of its core."""

    @property
    def data_bus(self) -> int:
        """Bytes that one access to memory behind the bus matrix moves at most."""

    @property
    def double_precision(self) -> bool:
        """Whether there are parts whose floating-point unit computes in double precision."""


_entered: list[Mapping[str, KnownCore]] = []


def enter(cores: Mapping[str, KnownCore]) -> None:
    """The table of all cores, by the name that ``core.isa`` gives them; what is added to it later is known too."""
    _entered[:] = [cores]


def core_names() -> tuple[str, ...]:
    """Every name that ``core.isa`` may have."""
    return tuple(name for cores in _entered for name in cores)


def unknown_core(isa: str) -> MachineError:
    """The error that names the key, the value and the cores there are."""
    return MachineError(f'core.isa = "{isa}": unknown core; known are {", ".join(core_names())}')


def _known(isa: str) -> KnownCore:
    for cores in _entered:
        if isa in cores:
            return cores[isa]
    raise unknown_core(isa)


def data_bus(isa: str) -> int:
    """Bytes of the core's data bus. Raises MachineError for an unknown core."""
    return _known(isa).data_bus


def double_precision(isa: str) -> bool:
    """Whether a part with this core may compute in double precision. Raises MachineError for an unknown core."""
    return _known(isa).double_precision
