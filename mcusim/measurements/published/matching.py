"""Whether a run is the one that was measured: a published figure is shown next to no other."""

from __future__ import annotations

from dataclasses import replace

from mcusim.errors import McusimError, UsageError
from mcusim.machine import load_shipped, machine_names
from mcusim.machine.description import Machine
from mcusim.measurements.published.rows import measured
from mcusim.model.graph import Graph
from mcusim.plan import SRAM_BUDGET, PlanOptions, plan
from mcusim.plan.options import WEIGHTS
from mcusim.plan.policies.tinyops import BUFFER_SIZES, VARIANT
from mcusim.program.program import Header, Program
from mcusim.results.measurement.measured import Measured
from mcusim.run_config.kernel_choice import DEFAULT_KERNELS
from mcusim.run_config.run_options import CODE, OPERATOR_OVERHEAD
from mcusim.run_config.settings import Settings
from mcusim.units import parse_size

SRAM_BUDGETS = {  # bytes, the TinyOps paper's Table 1
    "stm32f469i-disco": parse_size("256 KiB"),
    "stm32f746g-disco": parse_size("320 KiB"),
}
_FILES = {  # sha256 of the MLPerf Tiny reference models
    "ad01_int8": "87cf24194ef93d1d9b11a591d805526b98008e351655d29883c825c9c106ba24",
    "kws_ref_model": "aeea436800704fce17b17292e4412630ad856e9d777c044c64ef748a880bd0ae",
    "pretrainedResnet_quant": "3c002613d1b2475eb51dd78dfb85a546c8ae658dee71cf6ade43b022fe205415",
    "vww_96_int8": "597a384c8c2c8a1276f04702f25013b7838f2f814f1ca7c174d295b73e3d6b7b",
}


def published_for(graph: Graph, machine: Machine, chosen: Settings, program: Program | None = None) -> Measured | None:
    """The published figures of this very experiment, or None.

    The machine is a shipped one with nothing changed; the model the zoo network or the reference file of the published
    name, identified by its sha256; kernels, fidelity, the policy's other options, how the arena is planned and the
    weights' region are the defaults; the SRAM budget is none or that of the publication. A ``weights`` region named by
    the user is the default one when ``program``, planned with it, is what the default gives. Not modelled: whether the
    publication's binary was built like ours.
    """
    options = chosen.options
    if {name for name, _ in options.values} - {option.name for option in (SRAM_BUDGET, VARIANT, WEIGHTS, BUFFER_SIZES)}:
        return None
    if program is not None and "planned_budget" in program.header.options:  # not the paper's plan
        return None
    if not _same(graph.name, graph.sha256, graph.random_weights, machine, chosen, options[SRAM_BUDGET]):
        return None
    if options[WEIGHTS] is not None and not (program and _by_default(program, graph, machine, chosen)):
        return None
    return measured(graph.name, machine.name, chosen.policy, options[VARIANT])


def published_for_program(program: Program, machine: Machine, chosen: Settings) -> Measured | None:
    """:func:`published_for` of a program that was read: its zoo network, planned again, must give the same program.

    Not modelled: for the program of a ``.tflite``, whose graph is not available, its header is trusted.
    """
    header, budget = program.header, program.header.options.get("sram_budget")
    if {"planned_budget", "order", "allocator", "in_place", "arena", "persistent", "scratch"} & set(header.options):
        return None
    try:
        variant = VARIANT.parse_or_default(header.options.get(VARIANT.name))
    except UsageError:
        return None
    chosen = replace(chosen, options=chosen.options.having(VARIANT, variant))
    if not _same(header.model, header.model_sha256, header.random_weights, machine, chosen, budget):
        return None
    chosen = replace(chosen, options=PlanOptions().having(SRAM_BUDGET, budget).having(VARIANT, variant))
    if header.random_weights and not _by_default(program, _zoo_graph(header), machine, chosen):
        return None
    return measured(header.model, machine.name, header.policy, variant)


def _same(model: str, sha256: str, zoo: bool, machine: Machine, chosen: Settings, budget: object) -> bool:
    """All that can be decided without planning; cheap tests first."""
    return (
        measured(model, machine.name, chosen.policy, chosen.options[VARIANT]) is not None
        and (chosen.kernels.name, chosen.fidelity) == (DEFAULT_KERNELS, "replay")
        and (chosen.run[CODE], chosen.run[OPERATOR_OVERHEAD]) == (None, None)
        and (budget is None or budget == SRAM_BUDGETS.get(machine.name))
        and machine.name in machine_names()
        and machine == load_shipped(machine.name)
        and sha256 == (_zoo_sha256(model) if zoo else _FILES.get(model))
    )


def _zoo_sha256(model: str) -> str | None:
    from mcusim.model.zoo import parse_name
    from mcusim.model.zoo.builder import definition_sha256

    name = parse_name(model)
    return definition_sha256(name, name.architecture) if name else None


def _zoo_graph(header: Header) -> Graph:
    from mcusim.model.zoo import build, parse_name

    name = parse_name(header.model)
    assert name is not None  # its sha256 was compared
    return build(name)


def _by_default(program: Program, graph: Graph, machine: Machine, chosen: Settings) -> bool:
    """Is ``program`` what the policy writes with the default region of weights and the default overlays?"""
    asked = chosen.options
    options = PlanOptions().having(SRAM_BUDGET, asked[SRAM_BUDGET]).having(VARIANT, asked[VARIANT])
    try:
        default = plan(graph, machine, chosen.policy, kernels=chosen.kernels.cost_profile(), options=options)
    except McusimError:
        return False
    apart = ("set", BUFFER_SIZES.name)  # the machine was compared; how the plan was found does not matter
    recorded = {key: value for key, value in program.header.options.items() if key not in apart}
    return replace(program, header=replace(program.header, options=recorded)) == default
