"""The verdict on a plan: what counts, in bytes, and whether it fits where it goes; one for every command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mcusim.errors import DoesNotFit
from mcusim.machine.description import Machine
from mcusim.plan.pools import Layout, Pool, data_pools, pool_with, region_pool, sram_pool
from mcusim.plan.ram_pools import RamPools, arena_parts, place_parts
from mcusim.program.program import Header
from mcusim.runtime.runtime import recorded_runtime

ARENA, ARRAY = "the tensor arena", "the static array"


@dataclass(frozen=True, slots=True)
class MemoryVerdict:
    """Whether ``what`` fits ``region`` (regions used as one are joined by ``+``).

    ``needed`` is the sum of ``parts``, of ``available`` bytes. Parts of an arena: ``activations``, the tensors alone as
    the allocator places them; ``scratch``, what the kernels' scratch buffers add to that; ``state``, variables, where
    there are any; ``runtime``, the interpreter's data. ``memory_of``: the memory of each part, where they are in
    several. Not modelled: the stack of a replayed program, and the interpreter's own objects.
    """

    what: str
    region: str
    needed: int
    available: int
    parts: Mapping[str, int]
    memory_of: Mapping[str, str] = field(default_factory=dict)

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

    @classmethod
    def of_pools(cls, what: str, pools: RamPools, parts: Mapping[str, int]) -> MemoryVerdict:
        """The verdict on ``parts`` that are in ``pools``, each of which has room (:func:`place_parts`)."""
        separate = pools.separate
        on_chip = sum(pool.size for pool in separate if pool.on_chip)
        available = sum(pool.size for pool in separate) - on_chip + min(on_chip, pools.budget or on_chip)
        inside = {name: pools.pool_of(name).name for name in parts} if len(separate) > 1 else {}
        return cls(what, "+".join(pool.name for pool in separate), sum(parts.values()), available, parts, inside)

    @classmethod
    def of_data(cls, what: str, machine: Machine, pools: RamPools, parts: Mapping[str, int]) -> MemoryVerdict:
        """The verdict on ``parts`` that are to be in ``pools`` of ``machine``."""
        try:
            place_parts(Layout(machine), pools, what, parts)
        except DoesNotFit as reason:
            return cls.of(reason)
        return cls.of_pools(what, pools, parts)

    def __str__(self) -> str:
        inside = {name: f" in {region}" for name, region in self.memory_of.items()}
        listed = ", ".join(f"{name} {size:,} B{inside.get(name, '')}" for name, size in self.parts.items())
        if self.fits:
            return f"{self.what} fits {self.region}: {self.needed:,} of {self.available:,} B ({listed})"
        return str(self.reason) if listed in self.what else f"{self.reason}: {listed}"

    def to_json(self, machine: Machine) -> dict[str, Any]:
        """``fits what region needed available over``, ``parts``, bytes by name, ``memory_of``, a memory by name where
        they are in several, and ``unused[]{region bytes why}``: what of ``machine`` does not count."""
        named = {name: getattr(self, name) for name in ("fits", "what", "region", "needed", "available", "over")}
        named |= {"parts": dict(self.parts), "memory_of": dict(self.memory_of)}
        return {**named, "unused": [asdict(memory) for memory in unused_memory(self, machine)]}


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
    unused, inside = [], 0
    for pool in data_pools(machine):
        names = pool.name.split("+")
        beside = [name for name in names if name not in own]
        size = sum(machine.memory[name].size for name in beside)
        inside += pool.size - size
        if beside:
            why = f"{counted.region} alone was asked for" if own & {*names} else _why(counted, pool, machine)
            unused.append(UnusedMemory("+".join(beside), size, why))
    kept = [UnusedMemory(counted.region, inside - counted.available, "beyond the SRAM budget")]
    return (*(kept if inside > counted.available else ()), *unused)


def _why(counted: MemoryVerdict, pool: Pool, machine: Machine) -> str:
    reached = all(machine.memory[name].dma for name in pool.name.split("+"))
    if "overlay" in counted.parts and not reached:
        return "no DMA reaches it"
    if counted.memory_of:
        return "not needed"
    two = "runtime" in counted.parts
    pieces = "; tensors are in one memory, what persists may be in another" if two else ", and data are in one piece"
    return f"not next to {counted.region}{pieces}"


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
    planned = memory.arena - memory.runtime - memory.state
    parts = arena_parts(memory.activations, planned, memory.runtime, memory.state)
    pools = _used_pools(header, machine, arena.region, budget)
    return MemoryVerdict.of_pools(arena_name(header.options), pools, parts)


def _used_pools(header: Header, machine: Machine, arena: str, budget: int | None) -> RamPools:
    """The pools of a program whose tensors are in region ``arena``."""

    def pool(region: str, option: str) -> Pool:
        alone = header.options.get(option) is not None or machine.memory[region].kind == "sdram"
        return (region_pool if alone else pool_with)(machine, region)

    def apart(option: str, *kinds: str) -> Pool | None:
        region = next((b.span.region for b in header.buffers if b.kind in kinds and b.span.bytes), arena)
        own = region in machine.memory and region not in main.name.split("+")
        return pool(region, option) if own else None

    main = pool(arena, "arena")
    kept = ("runtime", "state") if header.memory.runtime else ("state",)
    return RamPools(main, apart("persistent", *kept), apart("scratch", "scratch"), budget)


def arena_name(options: Mapping[str, object]) -> str:
    """What data in RAM are called under the runtime of a header's ``options``."""
    return ARENA if recorded_runtime(options).array is None else ARRAY
