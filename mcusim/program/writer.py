"""Programs as files: JSON Lines, UTF-8, one object a line, no blank lines. Version 1.

Addresses are strings (``"0x20000000"``), everything else in bytes, rows or counts is a whole number. A *span* is
``[region, address, bytes]``; ``region`` names the region of its first byte. Unknown or repeated keys are errors.

**First line, the header**

* ``format``: always ``"mcusim-program"``; ``version``: always ``1``
* ``machine``, ``model``, ``model_sha256``, ``policy``, ``kernels``: what was planned, and for which kernel costs
* ``random_weights``: true if the weights were made up (zoo)
* ``options``: what the policy chose or was given. ``sram_budget`` is the limit asked for in bytes, null for none;
  ``set`` the machine keys that were changed, ``{"core.clock": "200 MHz"}``, key and value as strings, which a replay
  on ``machine`` changes too; ``title`` describes a sample; ``allocator`` other than ``greedy``, ``in_place`` and
  ``order`` other than ``default`` say how the arena was planned, ``operator_order`` which of the file's operators each
  one is
* ``memory``: bytes of ``activations``, ``scratch``, ``overlay``, ``runtime``, ``arena``, ``weights``; may have
  ``arena_exported``, the arena with explicit PADs (:mod:`mcusim.plan.pytorch_arena`), and ``state``, what is kept
  between inferences
* ``peak_bytes``: region -> bytes in use at the peak
* ``operators``: list of ``[index, type, macs]``; the index is the position in this list
* ``buffers``: list of ``[name, kind, region, address, bytes, first, last]``, alive while operators ``first`` to
  ``last`` run; kinds are activation, scratch, overlay, weights, runtime, state
* ``warnings``: list of strings
* ``made``: may be left out; an object that says what wrote the file (:class:`~mcusim.provenance.Made`), and is not read

**Every further line, a task**; those of one lane run in file order, each once all tasks in ``after`` have finished.

* ``id``: unique number; ``do``: ``compute``, ``transfer`` or ``maintain``
* ``lane``: ``core``, or for a transfer a DMA stream such as ``dma2.s0``
* ``op``, ``tile``: the operator (its index) and the tile of it
* ``after``: list of ids of earlier lines; left out when empty
* ``compute``: ``tiles`` (how many the operator has); ``geometry`` (``type``, ``in`` and ``out`` as ``[h, w, c]``, and
  where they differ from the default ``batch`` 1, ``kernel`` [1, 1], ``stride`` [1, 1], ``dilation`` [1, 1],
  ``pad`` [top 0, bottom 0, left 0, right 0], ``depth_multiplier`` 1, ``inputs`` 1, ``item`` 1, ``groups`` 1, ``types``
  int8, ``slow_channels`` 0, output channels outside of a quick way that the kernel has, ``clamped`` 0, 1 for a pass
  that clamps the outputs, ``paddings``, of a PAD of more than height and width a list of ``[before, input, output]``
  elements by axis); ``rows`` as ``[out_row, out_rows, in_row, in_rows]``; ``operands``, a list of ``[role, access,
  region, address, bytes]`` with access ``r``, ``w`` or ``rw``.
* ``transfer``: ``kind`` (input, input1, filter, bias, multiplier, shift, output), spans ``from`` and ``to``,
  ``request``, ``part`` and ``parts`` (of a request that was split), ``priority`` (higher pre-empts lower). One that
  firmware started has its stream's ``setting``: ``beat``, ``burst``, ``to_beat``, ``to_burst``, ``threshold`` and
  ``handler``, the core cycles of the handlers that followed; the machine's own set-up and handler do not come on top.
* ``maintain``: ``action`` (clean, invalidate, clean+invalidate) and ``span``.
* ``work``, of programs that ``mcusim emulate --program`` recorded (``policy`` is ``firmware``, and an operator's type
  the name of a function): ``cycles`` of the core without waits, ``maintenance`` cycles, and ``asked``, a list of
  ``[region, reads, writes, read bytes, written bytes, rows opened, wait, pattern]`` behind the caches (:class:`Asked`).

Limits: 16 MiB a file, 4 MiB a line, 40,000 tasks, 32-bit addresses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any, TextIO

from mcusim.errors import UsageError
from mcusim.model.geometry import Geometry
from mcusim.program.check import check_program
from mcusim.program.program import (
    FILE_BYTES,
    FORMAT,
    VERSION,
    Compute,
    Header,
    Maintain,
    Program,
    Span,
    Task,
    Transfer,
    Work,
)
from mcusim.program.reader import read_program
from mcusim.provenance import Made

__all__ = ["check_program", "program_lines", "read_program", "write_program"]

PAIRS = {
    "kernel": ("kernel_h", "kernel_w"),
    "stride": ("stride_h", "stride_w"),
    "dilation": ("dilation_h", "dilation_w"),
}
PADS = ("pad_top", "pad_bottom", "pad_left", "pad_right")
OF_KERNEL = ("slow_channels", "clamped")  # of the kernel that it was planned for


def write_program(program: Program, file: str | Path | TextIO, made: Made | None = None) -> None:
    """Write ``program`` to a path (UTF-8) or a text stream, with what ``made`` it; the same of both is the same bytes.

    Raises UsageError, with nothing written to a stream, for a program larger than a file may be.
    """
    if isinstance(file, (str, Path)):
        with Path(file).open("w", encoding="utf-8", newline="\n") as stream:
            write_program(program, stream, made)
        return
    lines = list(program_lines(program, made))
    if sum(map(len, lines)) + len(lines) > FILE_BYTES:  # all of it is ASCII
        raise UsageError(f"the program is larger than {FILE_BYTES:,} B, the most a program file may have")
    file.writelines(line + "\n" for line in lines)


def program_lines(program: Program, made: Made | None = None) -> Iterator[str]:
    """The lines of the file, without line ends."""
    yield json.dumps(_header(program.header) | ({"made": made.to_json()} if made else {}), allow_nan=False)
    for task in program.tasks:
        yield json.dumps(_task(task), allow_nan=False)


def _header(h: Header) -> dict[str, Any]:
    m = h.memory
    return {
        "format": FORMAT,
        "version": VERSION,
        "machine": h.machine,
        "model": h.model,
        "model_sha256": h.model_sha256,
        "policy": h.policy,
        "kernels": h.kernels,
        "random_weights": h.random_weights,
        "options": dict(sorted(h.options.items())),
        "memory": {
            "activations": m.activations,
            "scratch": m.scratch,
            "overlay": m.overlay,
            "runtime": m.runtime,
            "arena": m.arena,
            "weights": m.weights,
            **({} if m.arena_exported is None else {"arena_exported": m.arena_exported}),
            **({"state": m.state} if m.state else {}),
        },
        "peak_bytes": dict(sorted(h.peak_bytes.items())),
        "operators": [[o.index, o.type, o.macs] for o in h.operators],
        "buffers": [[b.name, b.kind, *_span(b.span), b.first, b.last] for b in h.buffers],
        "warnings": list(h.warnings),
    }


def _task(task: Task) -> dict[str, Any]:
    result: dict[str, Any] = {"id": task.id, "do": type(task).__name__.lower(), "lane": task.lane}
    result |= {"op": task.operator, "tile": task.tile}
    if isinstance(task, Compute):
        result |= _compute(task)
    elif isinstance(task, Transfer):
        result |= {"kind": task.kind, "from": _span(task.source), "to": _span(task.destination)}
        result |= {"request": task.request, "part": task.part, "parts": task.parts, "priority": task.priority}
        result |= {} if task.setting is None else {"setting": asdict(task.setting)}
    elif isinstance(task, Work):
        result |= {"cycles": task.cycles, "maintenance": task.maintenance}
        result["asked"] = [list(astuple(asked)) for asked in task.asked]
    else:
        assert isinstance(task, Maintain)
        result |= {"action": task.action, "span": _span(task.span)}
    if task.after:
        result["after"] = list(task.after)
    return result


def _compute(task: Compute) -> Mapping[str, Any]:
    r = task.rows
    return {
        "tiles": task.tiles,
        "geometry": _geometry(task.geometry),
        "rows": [r.out_row, r.out_rows, r.in_row, r.in_rows],
        "operands": [[o.role, o.access, *_span(o.span)] for o in task.operands],
    }


def _geometry(g: Geometry) -> dict[str, Any]:
    """Defaults are left out."""
    fields: dict[str, Any] = {"type": g.type, "in": [g.in_h, g.in_w, g.in_c], "out": [g.out_h, g.out_w, g.out_c]}
    lists = {key: [getattr(g, name) for name in names] for key, names in PAIRS.items()}
    fields |= {key: value for key, value in lists.items() if value != [1, 1]}
    pad = [getattr(g, name) for name in PADS]
    if any(pad):
        fields["pad"] = pad
    ones = {
        "batch": g.batch,
        "depth_multiplier": g.depth_multiplier,
        "inputs": g.inputs,
        "item": g.item,
        "groups": g.groups,
    }
    fields |= {key: value for key, value in ones.items() if value != 1}
    fields |= {key: getattr(g, key) for key in OF_KERNEL if getattr(g, key)}
    fields |= {"paddings": [list(axis) for axis in g.paddings]} if g.paddings else {}
    return fields if g.types == "int8" else fields | {"types": g.types}


def _span(s: Span) -> list[Any]:
    return [s.region, f"{s.address:#010x}", s.bytes]
