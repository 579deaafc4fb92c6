"""The access streams of a kernel call, by the kind of its loop nest."""

from __future__ import annotations

from mcusim.kernels.cost.counted import access_streams as S
from mcusim.kernels.cost.counted.access_streams import CountedCall
from mcusim.native.functions import native

KINDS = (
    "pointwise", "conv", "depthwise", "depthwise_3x3", "depthwise_basic", "fully_connected", "pool", "pad", "sequential"
)  # fmt: skip
_POINTWISE, _CONV, _DEPTHWISE, _DIRECT, _BASIC, _FULLY_CONNECTED, _POOL, _PAD, SEQUENTIAL = range(len(KINDS))


@native
def play_image(call: CountedCall, kind: int) -> None:
    """One image; ``kind``: index of :data:`KINDS`."""
    if kind == _POINTWISE:
        S.pointwise(call)
    elif kind == _CONV:
        S.conv(call)
    elif kind == _DEPTHWISE:
        S.depthwise(call)
    elif kind in (_DIRECT, _BASIC):
        S.depthwise_direct(call)
    elif kind == _FULLY_CONNECTED:
        S.fully_connected(call)
    elif kind == _POOL:
        S.pool(call)
    elif kind == _PAD:
        S.pad(call)
    else:
        S.sequential(call)


@native
def play_images(call: CountedCall, kind: int, images: int, input_step: int, output_step: int) -> None:
    """All images, which lie so many bytes apart."""
    first_input, first_output = call.input, call.output
    for _ in range(images):
        play_image(call, kind)
        call.input += input_step
        call.output += output_step
    call.input, call.output = first_input, first_output
