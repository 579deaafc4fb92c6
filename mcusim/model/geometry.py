"""The loop nest of an operator, in one shape for every type: what planners tile and kernels cost.

A :class:`Geometry` describes a whole operator; a :class:`Tile` says which output rows a task computes and
which input rows its buffer holds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Geometry:
    """NHWC sizes in elements. Operators without a spatial shape use ``h = w = 1`` and put all elements in ``c``.

    ``item`` is the bytes per activation element (1 for int8/uint8). ``pad_*`` are zero rows/columns around the input.
    ``inputs`` is the number of activation inputs (2 for ADD; CONCATENATION: as many as it has). ``types`` is that of
    input and output, ``uint8``, or of both where they differ, ``int8_to_float32``.
    """

    type: str
    batch: int
    in_h: int
    in_w: int
    in_c: int
    out_h: int
    out_w: int
    out_c: int
    kernel_h: int = 1
    kernel_w: int = 1
    stride_h: int = 1
    stride_w: int = 1
    dilation_h: int = 1
    dilation_w: int = 1
    pad_top: int = 0
    pad_bottom: int = 0
    pad_left: int = 0
    pad_right: int = 0
    depth_multiplier: int = 1
    inputs: int = 1
    item: int = 1
    types: str = "int8"

    @property
    def macs(self) -> int:
        """Multiply-accumulates of CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED; 0 for the rest."""
        outputs = self.batch * self.out_h * self.out_w * self.out_c
        if self.type in ("CONV_2D", "FULLY_CONNECTED"):
            return outputs * self.kernel_h * self.kernel_w * self.in_c
        if self.type == "DEPTHWISE_CONV_2D":
            return outputs * self.kernel_h * self.kernel_w
        return 0

    @property
    def in_bytes(self) -> int:
        """Bytes of one activation input (the first)."""
        return self.batch * self.in_h * self.in_w * self.in_c * self.item

    @property
    def out_bytes(self) -> int:
        return self.batch * self.out_h * self.out_w * self.out_c * self.item


@dataclass(frozen=True, slots=True)
class Tile:
    """Output rows ``out_row .. out_row+out_rows`` computed from input rows ``in_row .. in_row+in_rows``.

    The input operand of the task starts at row ``in_row``; rows outside the tensor are padding. A whole operator is
    ``Tile(0, out_h, 0, in_h)``. The output operand of the task starts at row ``out_row``.
    """

    out_row: int
    out_rows: int
    in_row: int
    in_rows: int


def whole(geometry: Geometry) -> Tile:
    """The tile that is the whole operator."""
    return Tile(0, geometry.out_h, 0, geometry.in_h)
