"""A trial: compile a configuration, load it into a fresh device, run the layer, compare every output byte.

A function may write its output, its scratch and its stack, nothing else. Not modelled: an average over inputs (cycles
of these kernels do not depend on the data), interrupts, a bus that others use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Literal

import numpy as np

from mcusim.errors import InputError, UsageError
from mcusim.kernels.calls import call_bytes as P
from mcusim.kernels.compiler import FLAGS
from mcusim.kernels.kernel_set import load_set
from mcusim.processes import TooLongError, cpu_limited
from mcusim.sessions.compile_module import CompileError
from mcusim.sessions.session import DeviceSession, SessionFault
from mcusim.tuning.config_space import Config, ConfigSpace

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.sessions.session import SessionCall
    from mcusim.sessions.tensor import SessionTensor
    from mcusim.tuning.layer import Layer
    from mcusim.tuning.template import KernelTemplate

Outcome = Literal["ok", "compile_error", "fault", "wrong_output", "does_not_fit", "timeout"]
PER_MAC, AT_LEAST = 60, 2_000_000  # instructions: ten times what plain loops take
# as kernel sets are compiled: the same code in a set that is made of it
_KERNEL_FLAGS = " ".join(flag for flag in FLAGS.split() if not flag.startswith("-Wl,"))
PYTHON_SECONDS = 10  # of a template's Python


@dataclass(frozen=True)
class TrialResult:
    """``cycles`` and ``causes`` (which sum to them) of an ``ok`` trial; ``text`` says why another is not;
    ``seconds`` of the host."""

    result: Outcome
    cycles: float | None = None
    causes: Mapping[str, float] = field(default_factory=dict)
    text: str = ""
    seconds: float = 0.0


class _LayerDevice:
    """A fresh device with a layer's operands."""

    def __init__(self, layer: Layer, machine: Machine, places: Mapping[str, str], scratch: int) -> None:
        self.layer, self.places = layer, {**layer.places, **places}
        self.session = DeviceSession(machine)
        tensors, op = layer.graph.tensors, layer.op
        multiplier, shift = P.channel_arrays(layer.graph, op) or (b"", b"")
        constants = {"filter": tensors[op.inputs[1]].data, "multiplier": np.frombuffer(multiplier, "<i4")}
        constants["shift"] = np.frombuffer(shift, "<i4")
        if len(op.inputs) > 2 and op.inputs[2] >= 0:
            constants["bias"] = tensors[op.inputs[2]].data
        addresses = {name: self._put(name, data).address for name, data in constants.items() if data is not None}
        source = self._put("input", layer.input)
        self.output = self._put("output", np.full(layer.expected.shape, 85, np.int8))
        room = self._put("scratch", np.zeros(max(scratch, 8), np.int8))
        where = P.Places(0, (source.address,), (self.output.address,), scratch=room.address, **addresses)
        self.call = self._put("bias", np.frombuffer(P.call_bytes(layer.graph, op, where), np.uint8))
        self.writes = (self.output, room)

    def _put(self, name: str, data: np.ndarray) -> SessionTensor:
        region = self.places.get(name) or self.places["bias"]
        return self.session.tensor(data, region, guard=False)  # it may write no other tensor

    def run(self, symbol: str) -> SessionCall:
        most = AT_LEAST + PER_MAC * self.layer.geometry.macs
        return self.session.call(symbol, self.call, max_instructions=most, writes=self.writes, checked=False)

    def judged(self, call: SessionCall, seconds: float) -> TrialResult:
        if call.unsigned:
            return TrialResult("fault", text=f"returned {call.signed}, an error", seconds=seconds)
        values, right = self.output.array, self.layer.expected
        if not np.array_equal(values, right):
            wrong = np.argwhere(values != right)
            at = tuple(map(int, wrong[0]))
            text = (
                f"{len(wrong):,} of {right.size:,} outputs differ; {list(at)} is {values[at]} and should be {right[at]}"
            )
            return TrialResult("wrong_output", text=text, seconds=seconds)
        return TrialResult("ok", call.cycles, dict(call.causes), seconds=seconds)


def run_trial(
    layer: Layer, machine: Machine, template: KernelTemplate, space: ConfigSpace, config: Config
) -> TrialResult:
    """Measure one configuration. Raises InputError for a template whose formulas or Python have no value for it."""
    began = perf_counter()
    try:
        g = layer.geometry
        with cpu_limited(PYTHON_SECONDS):
            source = template.source(g, space, config)
        places = _regions(machine, template.places(config))
        device = _LayerDevice(layer, machine, places, template.scratch_bytes(g, space, config))
        flags = f"{_KERNEL_FLAGS} {template.all_flags(config)}"
        device.session.load(source, layer.places["code"], include=template.include, flags=flags)
        return device.judged(device.run(template.symbol), perf_counter() - began)
    except TooLongError:
        return TrialResult("timeout", text=f"its Python did not end within {PYTHON_SECONDS} s of the processor")
    except CompileError as error:
        outcome: Outcome = "timeout" if error.timed_out else "compile_error"
        return TrialResult(outcome, text=_text(error), seconds=perf_counter() - began)
    except SessionFault as error:
        outcome = "timeout" if error.kind in ("limit", "loop") else "fault"
        return TrialResult(outcome, text=_text(error), seconds=perf_counter() - began)
    except UsageError as error:
        outcome = "does_not_fit" if "no room" in str(error) else "compile_error"
        return TrialResult(outcome, text=_text(error), seconds=perf_counter() - began)


def measure_set(layer: Layer, machine: Machine, name: str) -> TrialResult:
    """What a kernel set's function for the layer takes, in the same device. Raises UnsupportedError without one."""
    began = perf_counter()
    kernels = load_set(name)
    kernel = kernels.kernel(layer.op.type, P.types(layer.graph, layer.op))
    if kernel.filter_order:
        raise InputError(f"kernel set {name!r} has the filter of {kernel.symbol} in another order; it is not compared")
    device = _LayerDevice(layer, machine, {}, kernel.scratch_bytes(layer.geometry))
    device.session.load_kernels(kernels, [kernel.symbol], layer.places["code"])
    return device.judged(device.run(kernel.symbol), perf_counter() - began)


def _text(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _regions(machine: Machine, places: Mapping[str, str]) -> dict[str, str]:
    """The largest region of each wanted kind of memory. Raises UsageError, as for no room, where there is none."""
    regions = {}
    for operand, kind in places.items():
        able = [
            region for region in machine.memory.values() if region.kind == kind and (region.writable or kind == "flash")
        ]
        if not able:
            raise UsageError(f"no room for the {operand} in {kind}: {machine.name} has none")
        regions[operand] = max(able, key=lambda region: region.size).name
    return regions
