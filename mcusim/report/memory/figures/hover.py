"""What the plots of a memory plan say about a tensor, a step, a move, and the colour a tensor has in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import cos, radians, sin

from mcusim.model.graph import Graph
from mcusim.model.operators import shown_type
from mcusim.plan.liveness.timeline import Resident, Timeline
from mcusim.report.html.page import plain, shortened

WEIGHTS_COLOUR = "#c4c9cf"
HATCHED = {  # the marker of weights
    "color": WEIGHTS_COLOUR,
    "pattern": {"shape": "/", "fgcolor": "#6b7480", "bgcolor": WEIGHTS_COLOUR, "size": 7, "solidity": 0.2},
}
_NAMED, _WIDTH = 4, 44  # tensors of one resident, characters of a line


def operator_label(graph: Graph, index: int) -> str:
    """The operator as on the x axis, ``3 CONV_2D``; a long name of a custom operator is cut."""
    return f"{index} {plain(shortened(shown_type(graph.operators[index].type), 24))}"


def colour(rank: int) -> str:
    """A colour of its own for each ``rank``, light enough for dark text; neighbours differ most.

    Hues in OKLCH by the golden angle; conversion: Björn Ottosson, "A perceptual color space for image processing".
    """
    lightness, chroma = (0.80, 0.11) if rank % 2 else (0.72, 0.125)
    a, b = chroma * cos(radians(rank * 137.508 + 250)), chroma * sin(radians(rank * 137.508 + 250))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    channels = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{_eight_bits(channel):02x}" for channel in channels)


def _eight_bits(linear: float) -> int:
    inside = min(max(linear, 0.0), 1.0)
    return round(255 * (12.92 * inside if inside <= 0.0031308 else 1.055 * inside ** (1 / 2.4) - 0.055))


@dataclass(frozen=True)
class Tooltips:
    """The texts for one order of ``graph``, as plotly's markup."""

    graph: Graph
    timeline: Timeline

    @cached_property
    def makers(self) -> dict[int, int]:
        """The operator that makes each tensor."""
        return {t: op.index for op in self.graph.operators for t in op.outputs}

    @cached_property
    def colours(self) -> list[str]:
        """One per resident: that of its first tensor, the same in every order."""
        made = [t for op in self.graph.operators for t in op.outputs]
        ranks = {t: rank for rank, t in enumerate(dict.fromkeys((*self.graph.inputs, *made)))}
        last = len(ranks)
        return [colour(ranks.get(r.tensors[0], last)) if r.tensors else WEIGHTS_COLOUR for r in self.timeline.residents]

    @cached_property
    def marks(self) -> list[str]:
        """One short text per resident, drawn inside it: the operator whose output it is, as in the paper."""
        return [self._mark(r) for r in self.timeline.residents]

    @cached_property
    def residents(self) -> list[str]:
        """One text per resident: tensors, types, shapes, bytes, and between which operators it lives."""
        return [self._resident(r) for r in self.timeline.residents]

    @cached_property
    def steps(self) -> list[str]:
        """One text per step: its operator and the bytes in use."""
        usage = self.timeline.usage
        return [f"at {self._at(step)}: {usage[step]:,} B in use" for step in range(len(usage))]

    @cached_property
    def labels(self) -> list[str]:
        """One label of the x axis per step."""
        return [operator_label(self.graph, index) for index in self.timeline.order]

    def _mark(self, resident: Resident) -> str:
        if not resident.tensors:
            return "w"
        entries = dict.fromkeys(str(self.makers.get(t, "in")) for t in resident.tensors)
        return "+".join(entries) if len(entries) <= _NAMED else f"{next(iter(entries))}+{len(entries) - 1}"

    def _at(self, step: int) -> str:
        return f"step {step}, {self.labels[step]}" if step < len(self.labels) else f"step {step}"

    def _resident(self, resident: Resident) -> str:
        lines = self._tensors(resident.tensors) if resident.tensors else [f"<b>{plain(resident.name)}</b>"]
        if len(resident.tensors) > 1:
            lines.insert(0, f"{len(resident.tensors)} tensors in the same bytes:")
        lines += [f"{resident.bytes:,} B", *self._life(resident)]
        return "<br>".join(lines)

    def _tensors(self, tensors: Sequence[int]) -> list[str]:
        lines = []
        for index in tensors[:_NAMED]:
            tensor = self.graph.tensors[index]
            shape = " × ".join(map(str, tensor.shape)) if tensor.shape else "scalar"
            lines += [f"<b>{line}</b>" for line in _name(tensor.name or f"tensor {index}")]
            lines.append(f"{tensor.dtype} {shortened(shape, _WIDTH)}")
        more = len(tensors) - _NAMED
        return [*lines, f"and {more} more"] if more > 0 else lines

    def _life(self, resident: Resident) -> list[str]:
        if not resident.tensors:
            if resident.operator is None:
                return ["in RAM all the time"]
            return [f"in RAM at {self._at(resident.first)}"]
        made = any(t in self.makers for t in resident.tensors[:1])
        born = f"made at {self._at(resident.first)}" if made else f"network input, in use from step {resident.first}"
        kept = any(t in self.graph.outputs for t in resident.tensors)
        dies = "network output, kept to the end" if kept else f"needed until {self._at(resident.last)}"
        return [born, dies]


def _name(name: str) -> list[str]:
    """At most three lines of a tensor's name."""
    text = shortened(name, 3 * _WIDTH)
    return [plain(text[i : i + _WIDTH]) for i in range(0, len(text), _WIDTH)]
