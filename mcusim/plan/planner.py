"""From a graph and a machine to a program, by the name of a policy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from mcusim.errors import UsageError
from mcusim.kernels.cost.profile import Profile
from mcusim.kernels.kernel_set import KernelSet
from mcusim.machine.description import Machine
from mcusim.model.channel_tiles import channel_tiled
from mcusim.model.geometry import graph_macs
from mcusim.model.graph import Graph, require_runnable
from mcusim.plan.arena import allocator_of, in_order
from mcusim.plan.array_choice import resolve_options
from mcusim.plan.options import CHANNEL_TILES, IN_PLACE, ORDER, PATCH_SPLIT, PATCHES, RUNTIME, WITHOUT, PlanOptions
from mcusim.plan.placement import memory_needs
from mcusim.plan.registry import Policy, find_policy, policy_options, takers
from mcusim.program.program import Program
from mcusim.program.unknown_operators import (
    default_costs_text,
    left_out,
    left_out_text,
    opaque_types,
    refuse_in_compiled_code,
    used_costs,
)
from mcusim.runtime.planning_costs import costs_of


def plan(
    graph: Graph,
    machine: Machine,
    policy: str,
    kernels: Profile | KernelSet,
    options: PlanOptions | None = None,
) -> Program:
    """The program that runs ``graph`` on ``machine`` under ``policy``; the same arguments give the same program.

    ``kernels`` is a kernel cost profile or a kernel set: it says what scratch and parameters its kernels ask for.
    Raises UsageError for an unknown policy and for options the machine cannot meet, DoesNotFit when a region is too
    small, ModelError for an offline memory plan that cannot be used. The operators are those that the runtime executes.
    An order other than the stored one is in the
    header's options, and operators are numbered by it: :func:`mcusim.program.program_graph` gives the graph that is
    meant. Not modelled: tensors that move.
    """
    chosen = find_policy(policy)
    policy = chosen.name
    if not graph.operators:
        raise UsageError(f"model {graph.name} has no operators: there is nothing to plan")
    require_runnable(graph)
    asked = resolve_options(options or PlanOptions(), graph, policy)
    parts = asked[CHANNEL_TILES]
    ordered = in_order(channel_tiled(asked.runtime.executed(graph), dict(parts)), asked)
    program = chosen.plan(ordered, machine, costs_of(kernels, asked.runtime), asked)
    costs = _costs(ordered, machine, asked)
    recorded = {
        **_recorded(ordered, asked),
        **({"costs": costs} if costs else {}),
        **_on_patches(graph, ordered, kernels, asked),
        **program.header.options,
    }
    recorded |= {name: cell for name, cell in _of_policy(chosen, asked).items() if name not in recorded}
    header = replace(program.header, options=recorded)
    planned, without = replace(program, header=header), left_out_text(left_out(header))
    costs_text = default_costs_text(planned, machine.core.isa)
    warnings = (*header.warnings, *([f"totals are {without}"] * bool(without)), *costs_text)
    return replace(planned, header=replace(header, warnings=warnings))


def _costs(ordered: Graph, machine: Machine, asked: PlanOptions) -> dict[str, str]:
    """What opaque operators cost. Those by default are of the interpreter's own code, which compiled code has not."""
    costs = used_costs(opaque_types(op.type for op in ordered.operators), asked.costs, machine.core.isa)
    if asked.runtime.array is not None:
        own = used_costs(costs, asked.costs, "")
        refuse_in_compiled_code([name for name in costs if name not in own], asked.runtime.name)
    return costs


def _recorded(ordered: Graph, asked: PlanOptions) -> dict[str, object]:
    """What a header says of the order and of who placed the tensors; nothing of what is the default."""
    allocator = allocator_of(ordered, asked)
    entries: dict[str, object] = {} if allocator == "greedy" else {"allocator": allocator}
    in_place = asked.runtime.array is not None if asked[IN_PLACE] is None else asked[IN_PLACE]
    if in_place:
        entries["in_place"] = True
    if asked[RUNTIME] != RUNTIME.default:
        entries["runtime"] = asked[RUNTIME]
    if asked[WITHOUT]:
        entries["without"] = WITHOUT.to_json(asked[WITHOUT])
    if asked[ORDER] != "default":
        entries["order"] = asked[ORDER]
        entries["operator_order"] = list(range(len(ordered.operators)) if ordered.order is None else ordered.order)
    return entries


def _on_patches(graph: Graph, ordered: Graph, kernels: Profile | KernelSet, asked: PlanOptions) -> dict[str, object]:
    """What a header says of patches: also the multiply-accumulates of their halos, and the array without patches."""
    patches = asked.runtime.patches
    if patches is None:
        return {}
    uncut = asked.having(PATCHES, None).having(PATCH_SPLIT, None)
    needs = memory_needs(uncut.runtime.executed(graph), costs_of(kernels, uncut.runtime), uncut)
    return {
        PATCHES.name: patches.grid, PATCH_SPLIT.name: patches.split,
        "halo_macs": graph_macs(ordered) - graph_macs(graph), "uncut_arena": needs.memory().arena,
    }  # fmt: skip


def _of_policy(chosen: Policy, asked: PlanOptions) -> dict[str, object]:
    """The policy's own options that are not the default; a policy may record them itself, in another form."""
    cells = {option.name: option.to_json(asked[option]) for option in chosen.options if asked[option] != option.default}
    return dict(cells)


def require_effect(policies: Collection[str], given: Mapping[str, object]) -> None:
    """Raise UsageError for an option (None: not given) that none of ``policies`` takes, or an unknown policy."""
    policies = [find_policy(policy).name for policy in policies]
    for name, option in policy_options().items():
        if given.get(name) is not None and not set(policies) & set(takers(name)):
            chosen = " or ".join(dict.fromkeys(policies))
            raise UsageError(
                f"--{option.flag} has no effect under policy {chosen}; it is for {' and '.join(takers(name))}"
            )
