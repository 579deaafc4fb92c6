"""What is asked of an operator type instead of its name."""

from __future__ import annotations

from dataclasses import dataclass

QUANTIZED = ("int8", "uint8", "int16")


@dataclass(frozen=True, slots=True)
class Traits:
    """What planners, checks, kernel calls and cost models ask of an operator type.

    * ``parametric``: input 1 is a filter, input 2 (where there is one) a bias; its products are the operator's MACs
    * ``depthwise``: an output channel is computed from one input channel, not from all
    * ``per_channel``: the filter has a scale for each output channel; int8 filters are symmetric
    * ``windowed``: an output element comes from ``kernel_h x kernel_w`` places of the input
    * ``sums``: it adds its window up in a scratch buffer of 32-bit sums (an average)
    * ``reduces``: whole axes of the input become one element
    * ``pads``: it writes rows and columns around its input
    * ``joins``: its inputs are put one behind the other along an axis
    * ``broadcast``: it has two inputs, and either may be smaller than the output
    * ``elementwise``: an output element comes from the elements at the same place of the inputs, so that the output may
      be computed in place
    * ``view``: the output is the input's bytes under another shape
    * ``along_depth``: every element of the last axis is computed from that axis alone
    * ``casts``: input and output may differ in type, and one may be of floats
    * ``widens``: the output may be of int16 where the input is of int8, the least of it for 0
    * ``partitionable``: an overlaying policy may cut it into tiles along H (what the TinyOps firmware partitions)
    * ``transposed``: a convolution that adds each input element to the outputs it reaches
    * ``selects``: every element of the output is one of the input's, unchanged
    * ``splits``: a kernel call for each output
    * ``mirrors``: it writes what is around its input from the input
    * ``repeats``: it writes the same elements several times
    * ``rows``: it copies rows, whose length its loop nest has
    * ``multiplies``: matrices of its first input are multiplied with those of its second
    * ``fills``: it writes zeros, whatever its input has
    * ``constants``: an input that is constant is data all the same
    * ``data_input``: the position of the first input that is data
    * ``copies_state``: it copies between a variable and an activation
    * ``keeps_state``: variables among its inputs are state that its kernel, called with all inputs, updates in place
    * ``gates``: matrices of inputs and of the last outputs that each step in time multiplies (LSTM: 4)
    * ``filters_in_time``: each output sums products of inputs, and of its state over time
    * ``indices``: the positions of inputs that say where, int32
    * ``types``: of its data; ``output_types``: of its outputs, where they are not those of the data
    * ``computes``: what tells it from others that are called with the same structure: a curve, a way to combine inputs
    * ``costed_as``: the loops of a counted cost profile it runs as; ``copy`` where a profile has none of its own for it
    """

    parametric: bool = False
    depthwise: bool = False
    per_channel: bool = False
    windowed: bool = False
    sums: bool = False
    reduces: bool = False
    pads: bool = False
    joins: bool = False
    broadcast: bool = False
    elementwise: bool = False
    view: bool = False
    along_depth: bool = False
    casts: bool = False
    widens: bool = False
    partitionable: bool = False
    transposed: bool = False
    selects: bool = False
    splits: bool = False
    mirrors: bool = False
    repeats: bool = False
    rows: bool = False
    multiplies: bool = False
    fills: bool = False
    constants: bool = False
    data_input: int = 0
    copies_state: bool = False
    keeps_state: bool = False
    gates: int = 0
    filters_in_time: bool = False
    indices: tuple[int, ...] = ()
    types: tuple[str, ...] = QUANTIZED
    output_types: tuple[str, ...] = ()
    costed_as: str = "copy"
    computes: str = ""

    @property
    def stateful(self) -> bool:
        """It reads or writes variables."""
        return self.copies_state or self.keeps_state

    @property
    def by_rows(self) -> bool:
        """A kernel call can compute some rows of the output alone."""
        return self.windowed or self.elementwise or self.pads

    @property
    def bias_input(self) -> int:
        """The position of a parametric operator's bias: behind filter and data."""
        return 1 + max(self.data_input, 1)

    @property
    def constants_are_data(self) -> bool:
        """A constant among the inputs is data, not a table of shapes, axes or paddings."""
        return self.broadcast or self.joins or self.constants
