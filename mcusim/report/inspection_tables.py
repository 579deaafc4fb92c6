"""Models, machines and exported files as text and as JSON.

A model: operators, tensors, MACs, peak of live activations. A machine: every figure with its basis and source. The zoo:
what ``mcusim models`` prints. A file that ``mcusim export`` wrote: its size and what it contains.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mcusim.machine.clock_rules import clock_json, regulator_scale
from mcusim.machine.description import Cache, Machine
from mcusim.model.graph import Graph
from mcusim.model.inspection import inspect
from mcusim.model.operators import is_control_flow, is_opaque, shown_type
from mcusim.plan.liveness.lifetimes import usage_bytes
from mcusim.report.run.changes import change_lines
from mcusim.text import columns, cut, hanging_indent, size, wrapped
from mcusim.units import hertz


def export_json(graph: Graph, data: bytes, file: str) -> dict[str, Any]:
    """``model file file_bytes sha256`` (of the file), ``macs``, ``weight_bytes`` (constants), ``operators`` (how many
    of each type, the most frequent first), ``random_weights`` and ``warnings``.

    Not modelled: what ``inspect`` shows of the file.
    """
    shown = inspect(graph)
    return {
        "model": graph.name,
        "file": file,
        "file_bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "macs": shown["macs"],
        "weight_bytes": shown["weight_bytes"],
        "operators": dict(Counter(op.type for op in graph.operators).most_common()),
        "random_weights": graph.random_weights,
        "warnings": shown["warnings"],
    }


def export_table(graph: Graph, data: bytes, file: str) -> str:
    """The text that ``mcusim export`` prints."""
    row = export_json(graph, data, file)
    counts = row["operators"]
    lines = [f"{graph.name} -> {file}", ""]
    lines += columns(
        [
            ["file", f"{row['file_bytes']:,} B"],
            ["weights", f"{row['weight_bytes']:,} B"],
            ["MACs", f"{row['macs']:,}"],
            ["operators", str(sum(counts.values()))],
            *[[f"  {name}", str(count)] for name, count in counts.items()],
        ]
    )
    lines += [f"warning: {warning}" for warning in graph.warnings]
    if graph.random_weights:
        lines += ["", "random weights: a published architecture with seeded random numbers"]
    return "\n".join(lines)


_EXTERNAL = ("sdram", "qspi")


def machine_json(machine: Machine) -> dict[str, Any]:
    """``name title core clock{} memory[] dma[] figures[]``; bytes and Hz; a figure as it is written."""
    return {
        "name": machine.name,
        "title": machine.title,
        "core": asdict(machine.core),
        "clock": clock_json(machine),
        "memory": [
            {
                "name": region.name,
                "device": region.kind,
                "base": region.base,
                "size": region.size,
                "attribute": region.attribute,
                "dma": region.dma,
                "writable": region.writable,
            }
            for region in machine.memory.values()
        ],
        "dma": [{"name": dma.name, "streams": dma.streams, "beat": dma.beat} for dma in machine.dma.values()],
        "figures": [
            {"key": f.key, "value": f.text, "basis": f.basis, "source": f.source} for f in machine.figures.values()
        ],
    }


def machines_table(machines: Sequence[Machine]) -> str:
    """One line per machine."""
    rows = [["name", "core", "clock", "RAM", "flash", "external"]]
    for machine in machines:
        rows.append(
            [
                machine.name,
                machine.core.isa,
                f"{machine.core.clock / 1e6:g} MHz",
                size(_total(machine, "tcm", "sram")),
                size(_total(machine, "flash")),
                _external(machine),
            ]
        )
    return "\n".join(columns(rows, left=2, indent=0))


def _external(machine: Machine) -> str:
    """``"sdram 8, qspi 16 MiB"``."""
    texts = [f"{region.kind} {size(region.size)}" for region in machine.memory.values() if region.kind in _EXTERNAL]
    if len({text.split()[-1] for text in texts}) == 1:
        texts[:-1] = [text.rpartition(" ")[0] for text in texts[:-1]]
    return ", ".join(texts) or "-"


def machine_table(machine: Machine) -> str:
    """Core, caches, memory map, then every figure."""
    lines = [f"{machine.name}: {machine.title}", ""]
    lines += columns(
        [
            ["core", machine.core.isa],
            ["clock", _clock(machine)],
            ["instruction cache", _cache(machine.instruction_cache)],
            ["data cache", _cache(machine.data_cache)],
            *([f"dma {d.name}", f"{d.streams} streams, {d.beat} B a beat"] for d in machine.dma.values()),
        ],
        left=2,
    )
    lines += change_lines(machine)
    rows = [["region", "device", "base", "size", "attribute", "DMA"]]
    for region in machine.memory.values():
        dma = "yes" if region.dma else "no"
        rows.append([region.name, region.kind, f"0x{region.base:08x}", size(region.size), region.attribute, dma])
    lines += ["", "Memory", *columns(rows, left=2), "", "Figures"]
    for figure in machine.figures.values():
        lines += wrapped(f"{figure.key} = {figure.text} ({figure.basis}: {figure.source})")
    return "\n".join(lines)


def _clock(machine: Machine) -> str:
    limit, setting = machine.core.max_clock, regulator_scale(machine, machine.core.clock)
    most = f" of at most {hertz(limit)}" if limit is not None else ""
    return f"{hertz(machine.core.clock)}{most}" + (f", regulator {setting}" if setting else "")


def _cache(cache: Cache | None) -> str:
    if cache is None or cache.size == 0:
        return "none"
    return f"{size(cache.size)}, {cache.ways} ways, {cache.line} B lines, {cache.policy}, {cache.replacement}"


def _total(machine: Machine, *kinds: str) -> int:
    return sum(region.size for region in machine.memory.values() if region.kind in kinds)


def model_json(graph: Graph) -> dict[str, Any]:
    """:func:`mcusim.model.inspection.inspect` with ``model``, ``peak_activation_bytes`` and, at each operator,
    ``live_bytes``: the activations alive while it runs, its inputs and outputs included.

    Not modelled: fragmentation, kernel scratch and the interpreter's own data, which a plan adds.
    """
    live = usage_bytes(graph)
    data = {"model": graph.name, "peak_activation_bytes": max(live, default=0), **inspect(graph)}
    del data["name"]
    for operator, bytes in zip(data["operators"], live, strict=True):
        operator["live_bytes"] = bytes
    return data


def model_table(graph: Graph) -> str:
    """The text that ``mcusim inspect`` prints."""
    data = model_json(graph)
    counts: dict[str, int] = {}
    for operator in graph.operators:
        counts[shown_type(operator.type)] = counts.get(shown_type(operator.type), 0) + 1
    opaque = [op.type for op in graph.operators if is_opaque(op.type) and not is_control_flow(op.type)]
    lines = [graph.name, ""]
    lines += columns(
        [
            ["MACs", f"{data['macs']:,}"],
            ["peak of live activations", f"{data['peak_activation_bytes']:,} B"],
            ["weights", f"{data['weight_bytes']:,} B"],
            ["operators", str(len(graph.operators))],
        ]
    )
    lines += wrapped(f"MACs without those of {', '.join(dict.fromkeys(map(shown_type, opaque)))}") if opaque else []
    types = sorted(counts.items(), key=lambda item: -item[1])
    lines += wrapped(", ".join(f"{count} {name}" for name, count in types))
    rows = [["operator", "type", "input", "output", "MACs", "live"]]
    for operator, row in zip(graph.operators, data["operators"], strict=True):
        first = next((i for i in operator.inputs if i >= 0 and not graph.tensors[i].constant), None)
        source = _shape(graph, first)
        target = _shape(graph, operator.outputs[0] if operator.outputs else None)
        kind = cut(shown_type(row["type"]), 28)
        rows.append([str(row["index"]), kind, source, target, f"{row['macs']:,}", size(row["live_bytes"])])
    lines += ["", *columns(rows, left=2)]
    lines += ["", *(line for note in graph.notes for line in wrapped(note))] if graph.notes else []
    lines += [line for warning in graph.warnings for line in hanging_indent(f"warning: {warning}")]
    if graph.random_weights:
        lines.append("random weights: a published architecture with seeded random numbers")
    return "\n".join(lines)


def _shape(graph: Graph, index: int | None) -> str:
    return "-" if index is None else "x".join(map(str, graph.tensors[index].shape)) or "scalar"


def zoo_json() -> dict[str, Any]:
    """``models``: for each name or pattern of names an example, with its operators, MACs and weights in bytes.

    A pattern's ``w*`` is the width multiplier, ``r*`` the input resolution. Not modelled: what ``inspect`` shows.
    """
    from mcusim.model import graph_macs, zoo_names
    from mcusim.model.zoo import outline, parse_name

    rows = []
    for pattern, example in zoo_names().items():
        name = parse_name(example)
        assert name is not None  # examples are names
        graph = outline(name)
        weights = sum(tensor.bytes for tensor in graph.tensors if tensor.constant)
        counts = {"operators": len(graph.operators), "macs": graph_macs(graph), "weight_bytes": weights}
        rows.append({"name": pattern, "example": example, **counts})
    return {"models": rows}


def zoo_table() -> str:
    """The text that ``mcusim models`` prints."""
    rows = [["name", "example", "operators", "MACs", "weights"]]
    for row in zoo_json()["models"]:
        weights = f"{row['weight_bytes']:,} B"
        rows.append([row["name"], row["example"], str(row["operators"]), f"{row['macs']:,}", weights])
    notes = [
        "w* is the width multiplier, r* the input resolution, as in the example.",
        "NAME-pad is the same with an explicit PAD before each strided window that pads, as in a PyTorch export.",
        "Published architectures; the weights are seeded random numbers.",
    ]
    return "\n".join([*columns(rows, left=2, indent=0), "", *(line for note in notes for line in hanging_indent(note))])
