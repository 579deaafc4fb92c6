"""What becomes of one ``.tflite``: read, planned, run, emulated, compared with LiteRT or TensorFlow Lite Micro.

    python scripts/evidence/one_model_file.py FILE [--most-macs N] [--kernels NAME]

prints one line of JSON. Board: the STM32F746G-DISCO, policy ``internal`` where it fits, else ``external``, else
``external`` with an SDRAM of 256 MiB. A file is *quantised* when most of what its operators put out is int8, uint8 or
int16; compiled for an accelerator when one of its operators is that accelerator's program.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tflite

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import mcusim
from mcusim.errors import McusimError
from mcusim.model import graph_macs, load_model
from mcusim.model.graph import Graph
from mcusim.run_config.input_tensors import random_inputs

BOARD = "stm32f746g-disco"
PLACES: tuple[tuple[str, dict[str, str]], ...] = (
    ("internal", {}),
    ("external", {}),
    ("external", {"memory.sdram.size": "256 MiB", "memory.sdram.rows": "65536", "memory.sdram.columns": "512"}),
)
WHERE = ("internal", "external", "larger SDRAM")
ACCELERATORS = (b"edgetpu-custom-op", b"ethos-u")
INTEGERS = (tflite.TensorType.INT8, tflite.TensorType.UINT8, tflite.TensorType.INT16)
Array = np.ndarray[Any, Any]
Outputs = dict[int, list[Array]]


def kind(data: bytes) -> str:
    """``quantised``, ``float``, ``accelerator`` or ``no model``."""
    if data[4:8] != b"TFL3":
        return "no model"
    try:
        model = tflite.Model.GetRootAs(data, 0)
        codes = [model.OperatorCodes(i).CustomCode() for i in range(model.OperatorCodesLength())]
        if any(name in (code or b"") for name in ACCELERATORS for code in codes):
            return "accelerator"
        graph = model.Subgraphs(0)
        made = [graph.Operators(i).Outputs(j) for i in range(graph.OperatorsLength())
                for j in range(graph.Operators(i).OutputsLength())]  # fmt: skip
        types = [graph.Tensors(t).Type() for t in made]
    except Exception:
        return "no model"
    return "quantised" if 2 * sum(t in INTEGERS for t in types) >= len(types) else "float"


def examine(path: Path, most_macs: int, kernels: str) -> dict[str, Any]:
    """The row of a file; ``stopped`` is the first step that it does not pass, with ``reason``."""
    data = path.read_bytes()
    row: dict[str, Any] = {"kind": kind(data)}
    if row["kind"] != "quantised":
        return row
    start = time.perf_counter()
    try:
        row["stopped"] = "read"
        graph = load_model(path)
        row |= {"macs": graph_macs(graph), "operators": len(graph.operators), "stopped": "run"}
        place = _run(graph, row)
        row["stopped"] = "emulated"
        if row["macs"] > most_macs:
            row |= {"emulated": f"not tried: {row['macs'] / 1e6:,.0f} M MACs"}
        else:
            _emulate(graph, data, place, kernels, row)
        del row["stopped"]
    except McusimError as error:
        row["reason"] = str(error).replace(str(path), path.name).splitlines()[0]
    row["head"] = _head(path, data)
    row["seconds"] = round(time.perf_counter() - start, 1)
    return row


def _run(graph: Graph, row: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Replay it at the first place where it fits."""
    for where, (policy, overrides) in zip(WHERE, PLACES, strict=True):
        result = mcusim.simulate(graph, BOARD, policy, overrides=overrides)
        if result.run is not None:
            row |= {"run": where, "cycles": result.run.cycles}
            return policy, overrides
    raise result.does_not_fit or McusimError("it does not run")


def _emulate(graph: Graph, data: bytes, place: tuple[str, dict[str, str]], kernels: str, row: dict[str, Any]) -> None:
    seen: Outputs = {}
    inputs = random_inputs(graph)
    policy, overrides = place
    result = mcusim.simulate(
        graph,
        BOARD,
        policy,
        kernels,
        overrides=overrides,
        fidelity="emulate",
        input=list(inputs),
        observe=seen.__setitem__,
    )
    if result.run is None:
        raise result.negative or McusimError("it does not run")
    row["cycles_emulated"] = result.run.cycles
    row["emulated"], row["with"] = compared(graph, data, inputs, seen)


def compared(graph: Graph, data: bytes, inputs: Sequence[Array], seen: Outputs) -> tuple[str, str]:
    """``exact``, or the first operator that differs; and what it was compared with, LiteRT before TFLM.

    An LSTM's arithmetic is TFLM's, which LiteRT's is not: where LiteRT differs, TFLM's outputs are looked at too.
    """
    notes: list[str] = []
    worst = ""
    for name, reference in (("LiteRT", litert), ("TFLM", tflm)):
        try:
            found = _difference(graph, seen, reference(graph, data, inputs))
        except (RuntimeError, ValueError) as error:
            notes.append(f"{name}: {error}"[:120])
            continue
        if not found:
            return "exact", "; ".join([name, *(note for note in notes if "differs" in note)])
        worst = worst or found
        notes.append(f"{name}: {found}")
    return worst or "nothing to compare with", "; ".join(notes)


def no_litert(graph: Graph, data: bytes, inputs: Sequence[Array]) -> dict[int, Array]:
    raise RuntimeError("ends the process")


def _difference(graph: Graph, seen: Outputs, theirs: dict[int, Array]) -> str:
    """The first operator whose outputs are not the same; "" for none."""
    for op in graph.operators:
        for tensor, ours in zip(op.outputs, seen.get(op.index, ()), strict=False):
            want = theirs.get(tensor)
            if want is not None and want.tobytes() != np.ascontiguousarray(ours).tobytes():
                return f"operator {op.index} {op.type} differs"
    missing = [t for t in graph.outputs if t not in theirs]
    return f"no output {missing[0]} to compare" if missing else ""


def litert(graph: Graph, data: bytes, inputs: Sequence[Array]) -> dict[int, Array]:
    """Tensor to its bytes, by LiteRT's reference kernels on the file as it is."""
    from ai_edge_litert import interpreter

    state = any(tensor.variable for tensor in graph.tensors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # keeping tensors warns of memory
        runtime: Any = interpreter.Interpreter(
            model_content=data,
            experimental_op_resolver_type=interpreter.OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=not state,  # with both it ends the process
        )
    runtime.allocate_tensors()
    for detail, values in zip(runtime.get_input_details(), inputs, strict=True):
        runtime.set_tensor(detail["index"], values)
    runtime.invoke()
    found = {}
    for tensor in graph.outputs if state else {t for op in graph.operators for t in op.outputs}:
        try:
            found[tensor] = np.array(runtime.get_tensor(tensor))
        except ValueError:  # no data: LiteRT folded it
            continue
    return found


def tflm(graph: Graph, data: bytes, inputs: Sequence[Array]) -> dict[int, Array]:
    """The graph's outputs by TensorFlow Lite Micro's wheel."""
    from tests.support.graphs.tflm import TFLM

    outputs = TFLM(data).run(*inputs, outputs=len(graph.outputs))
    return dict(zip(graph.outputs, outputs, strict=True))


def _head(path: Path, data: bytes) -> dict[str, Any]:
    """Bytes at the head of TFLM's arena: ours, and the wheel's where it accepts the file."""
    from tests.support.graphs.tflm import TFLM

    try:
        theirs: int | str = TFLM(data).head
    except RuntimeError:
        return {}
    try:
        ours: int | str | None = mcusim_head(path)
    except McusimError as error:
        ours = str(error).replace(str(path), path.name)[:120]
    return {"ours": ours, "theirs": theirs}


def mcusim_head(path: Path) -> int | None:
    from mcusim.api.plan_memory import memory
    from mcusim.report.memory.json import memory_json

    found: int | None = memory_json(memory(path, seconds=1.0))["tflm_head_bytes"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--most-macs", type=float, default=1e9)
    parser.add_argument("--kernels", default="cmsis")
    parser.add_argument("--without-litert", action="store_true", help="it ends the process for some files")
    given = parser.parse_args()
    if given.without_litert:
        globals()["litert"] = no_litert
    print(json.dumps(examine(given.file, int(given.most_macs), given.kernels)))


if __name__ == "__main__":
    main()
