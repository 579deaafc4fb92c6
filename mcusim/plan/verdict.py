"""The verdict on a plan: what counts, in bytes, and whether it fits where it goes; one for every command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mcusim.errors import DoesNotFit
from mcusim.machine.description import Machine
from mcusim.plan.pools import Pool, data_pools, pool_with, region_pool, sram_pool
from mcusim.program.program import Header
from mcusim.runtime.runtime import recorded_runtime

__all__ = ["ARENA", "ARRAY", "MemoryVerdict", "UnusedMemory", "arena_parts", "program_verdict", "unused_memory"]

ARENA, ARRAY = "the tensor arena", "the static array"


@dataclass(frozen=True, slots=True)
class MemoryVerdict:
    """Whether ``what`` fits ``region`` (regions used as one are joined by ``+``).

    ``needed`` is the sum of ``parts``, of ``available`` bytes. Parts of an arena: ``activations``, the tensors alone as
    the allocator places them; ``scratch``, what the kernels' scratch buffers add to that; ``state``, variables, where
    there are any; ``runtime``, the interpreter's data. Not modelled: the stack of a replayed program, and the
    interpreter's own objects.
    """

    what: str
    region: str
    needed: int
    available: int
    parts: Mapping[str, int]

    @property
    def fits(self) -> bool:
        return self.needed <= self.available

    @property
    def over(self) -> int:
        """Bytes too many; 0 when it fits."""
        return max(0, self.needed - self.available)

    @property
    def reason(self) -> DoesNotFit | None:
        """The negative verdict; None when it fits."""
        return None if self.fits else DoesNotFit(self.region, self.needed, self.available, self.what, self.parts)

    @classmethod
    def of(cls, reason: DoesNotFit) -> MemoryVerdict:
        """The verdict that ``reason`` gives."""
        return cls(reason.what, reason.region, reason.needed, reason.available, reason.parts)

    def __str__(self) -> str:
        listed = ", ".join(f"{name} {size:,} B" for name, size in self.parts.items())
        if self.fits:
            return f"{self.what} fits {self.region}: {self.needed:,} of {self.available:,} B ({listed})"
        return str(self.reason) if listed in self.what else f"{self.reason}: {listed}"

    def to_json(self, machine: Machine) -> dict[str, Any]:
        """``fits what region needed available over``, ``parts``, bytes by name, and ``unused[]{region bytes why}``:
        what of ``machine`` does not count."""
        named = {name: getattr(self, name) for name in ("fits", "what", "region", "needed", "available", "over")}
        return {**named, "parts": dict(self.parts), "unused": [asdict(one) for one in unused_memory(self, machine)]}


@dataclass(frozen=True, slots=True)
class UnusedMemory:
    """On-chip data memory that a verdict leaves out: ``region`` (joined by ``+``), ``bytes`` and ``why``."""

    region: str
    bytes: int
    why: str


def unused_memory(counted: MemoryVerdict, machine: Machine) -> tuple[UnusedMemory, ...]:
    """The on-chip data memory of ``machine`` that is not among what ``counted`` has available; none where that is no
    on-chip memory."""
    own = {name for name in counted.region.split("+") if name in machine.memory}
    if not own or any(machine.memory[name].kind not in ("sram", "tcm") for name in own):
        return ()
    found = []
    for pool in data_pools(machine):
        names = pool.name.split("+")
        if not own & {*names}:
            found.append(UnusedMemory(pool.name, pool.size, _why(counted, pool, machine)))
            continue
        beside = [name for name in names if name not in own]
        size = sum(machine.memory[name].size for name in beside)
        found += [UnusedMemory("+".join(beside), size, f"{counted.region} alone was asked for")] if beside else []
        kept = pool.size - size - counted.available
        found += [UnusedMemory(counted.region, kept, "beyond the SRAM budget")] if kept > 0 else []
    return tuple(found)


def _why(counted: MemoryVerdict, pool: Pool, machine: Machine) -> str:
    reached = all(machine.memory[name].dma for name in pool.name.split("+"))
    if "overlay" in counted.parts and not reached:
        return "no DMA reaches it"
    return f"not next to {counted.region}, and data are in one piece"


def arena_parts(activations: int, planned: int, runtime: int, state: int) -> dict[str, int]:
    """The parts of an arena: ``activations`` bytes for tensors alone, ``planned`` with scratch buffers among them."""
    tensors = min(activations, planned)  # a heuristic may need less for more
    kept = {"state": state} if state else {}
    return {"activations": tensors, "scratch": planned - tensors, **kept, "runtime": runtime}


def program_verdict(header: Header, machine: Machine) -> MemoryVerdict | None:
    """The verdict on a program that was planned for ``machine``, so that it fits; None for one without an arena.

    Where data are copied into on-chip RAM, it is about that: overlay buffers, and scratch buffers next to them.
    """
    arena = next((b.span for b in header.buffers if b.kind == "activation"), None)
    if arena is None or arena.region not in machine.memory:
        return None
    memory, budget = header.memory, header.options.get("sram_budget")
    if memory.overlay:
        pool = sram_pool(machine).cut(budget)
        used = sum(size for name, size in header.peak_bytes.items() if name in pool.name.split("+"))
        parts = {"overlay": memory.overlay, "scratch": used - memory.overlay}
        return MemoryVerdict("the set of overlay buffers", pool.name, used, pool.size, parts)
    alone = header.options.get("arena") is not None or machine.memory[arena.region].kind == "sdram"
    pool = (region_pool if alone else pool_with)(machine, arena.region).cut(budget)
    planned = memory.arena - memory.runtime - memory.state
    parts = arena_parts(memory.activations, planned, memory.runtime, memory.state)
    return MemoryVerdict(arena_name(header.options), pool.name, sum(parts.values()), pool.size, parts)


def arena_name(options: Mapping[str, object]) -> str:
    """What data in RAM are called under the runtime of a header's ``options``."""
    return ARENA if recorded_runtime(options).array is None else ARRAY
