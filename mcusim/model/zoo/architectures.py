"""Architectures as data: layers at width 1.0, in the notation of the papers they come from.

A layer is a tuple whose first word names it; :mod:`mcusim.model.zoo.builder` turns it into operators.

====================================  ==================================================================
``("conv", k, s, c)``                 k x k (or ``(kh, kw)``) convolution, stride s, c channels, activation
``("depthwise", k, s)``               depthwise convolution, activation
``("block", e, k, c, s, n)``          n inverted blocks: expand e, k x k depthwise stride s (1 after the first),
                                      project to c; a residual ADD where stride is 1 and channels match
``("max_pool" | "average_pool", k, s)``  SAME padding
``("global_pool",)``                  AVERAGE_POOL_2D over the whole map
``("classes", n)``                    1x1 convolution, no activation, n not scaled by the width
``("dense", n)``                      FULLY_CONNECTED, no activation
``("flatten",)``, ``("softmax",)``    RESHAPE to (1, n), SOFTMAX
``("save", name)``, ``("from", name)``  remember the current tensor, go back to it
``("concatenate", name)``             join the remembered tensor and the current one along the channels
====================================  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mcusim.model.zoo.mit import MCUNETS, McuNet

Layer = tuple[Any, ...]


@dataclass(frozen=True)
class Architecture:
    """``rounding``: channels x width go up to a multiple of 4 or 8 (``"up-4"``, ``"up-8"``) or to the nearest of 8
    (``"near-8"``, at least 8 and at least nine tenths of the exact value). ``input`` is (h, w, c); families with a
    resolution have h = w = None. ``fixed_head`` keeps the last wide convolution at its full width when the width is
    below 1.

    ``exported``: the form of MIT's public ``.tflite`` files. A PAD (of nothing before a 1x1) precedes every convolution
    but the classifier, and no convolution pads; the global pool's stride is its window; an ADD reads the block's output
    first, and there is one only where the channels match at width 1 too. The last wide convolution scales as the others
    do; MobileNetV2 is rounded ``"near-8"``, ProxylessNAS ``"up-8"`` (192 x 0.3 is 64 in its file).
    """

    title: str
    layers: tuple[Layer, ...]
    activation: str = "RELU6"
    rounding: str = "up-4"
    input: tuple[int | None, int | None, int] = (None, None, 3)
    fixed_head: bool = False
    exported: bool = field(default=False, repr=False)
    example: str = field(default="", compare=False)

    @property
    def scalable(self) -> bool:
        return self.input[0] is None


_HEAD: tuple[Layer, ...] = (("global_pool",), ("classes", 1000), ("flatten",))


def _blocks(*rows: tuple[str, int, int, int]) -> tuple[Layer, ...]:
    """Single inverted blocks from (expand, kernel, channels, stride)."""
    return tuple(("block", *row, 1) for row in rows)


def _mcunet(net: McuNet, title: str, example: str, exported: bool = False) -> Architecture:
    layers = (("conv", 3, 2, net.first), *_blocks(*net.rows), ("global_pool",), ("classes", net.classes), ("flatten",))
    rounding = "near-8" if exported else "up-4"
    return Architecture(
        title, layers, rounding=rounding, input=(net.resolution, net.resolution, 3), exported=exported, example=example
    )


_PROXYLESS: tuple[Layer, ...] = (
    ("conv", 3, 2, 32),
    ("block", "1", 3, 16, 1, 1),
    ("block", "3", 5, 32, 2, 1),
    ("block", "3", 3, 32, 1, 1),
    ("block", "3", 7, 40, 2, 1),
    ("block", "3", 3, 40, 1, 1),
    ("block", "3", 5, 40, 1, 2),
    ("block", "6", 7, 80, 2, 1),
    ("block", "3", 5, 80, 1, 3),
    ("block", "6", 5, 96, 1, 1),
    ("block", "3", 5, 96, 1, 3),
    ("block", "6", 7, 192, 2, 1),
    ("block", "6", 7, 192, 1, 1),
    ("block", "3", 7, 192, 1, 2),
    ("block", "6", 7, 320, 1, 1),
    ("conv", 1, 1, 1280),
)

_MOBILENET_V2: tuple[Layer, ...] = (
    ("conv", 3, 2, 32),
    ("block", "1", 3, 16, 1, 1),
    ("block", "6", 3, 24, 2, 2),
    ("block", "6", 3, 32, 2, 3),
    ("block", "6", 3, 64, 2, 4),
    ("block", "6", 3, 96, 1, 3),
    ("block", "6", 3, 160, 2, 3),
    ("block", "6", 3, 320, 1, 1),
    ("conv", 1, 1, 1280),
)

ARCHITECTURES: dict[str, Architecture] = {
    "proxyless": Architecture(
        "ProxylessNAS mobile",
        (*_PROXYLESS, *_HEAD),
        example="proxyless-w0.25-r160",
    ),
    "mnasnet": Architecture(
        "MNASNet-B1",
        (
            ("conv", 3, 2, 32),
            ("block", "1", 3, 16, 1, 1),
            ("block", "3", 3, 24, 2, 3),
            ("block", "3", 5, 40, 2, 3),
            ("block", "6", 5, 80, 2, 3),
            ("block", "6", 3, 96, 1, 2),
            ("block", "6", 5, 192, 2, 4),
            ("block", "6", 3, 320, 1, 1),
            ("conv", 1, 1, 1280),
            *_HEAD,
        ),
        example="mnasnet-w1.00-r128",
    ),
    "mbv3": Architecture(
        "MobileNetV3-Large skeleton: 3x3 kernels, ReLU6, no squeeze-and-excite",
        (
            ("conv", 3, 2, 16),
            ("block", "1", 3, 16, 1, 1),
            ("block", "4", 3, 24, 2, 1),
            ("block", "3", 3, 24, 1, 1),
            ("block", "3", 3, 40, 2, 3),
            ("block", "6", 3, 80, 2, 1),
            ("block", "5", 3, 80, 1, 1),
            ("block", "2.3", 3, 80, 1, 2),
            ("block", "6", 3, 112, 1, 2),
            ("block", "6", 3, 160, 2, 3),
            ("conv", 1, 1, 960),
            ("global_pool",),
            ("conv", 1, 1, 1280),
            ("classes", 1000),
            ("flatten",),
        ),
        example="mbv3-w0.40-r096",
    ),
    "mcunet-f469": _mcunet(
        MCUNETS["in2"],
        "MCUNet, the configuration mcunet-256kb-1mb_imagenet.json of github.com/mit-han-lab/tinyml",
        "mcunet-f469",
    ),
    "mcunet-f746": _mcunet(
        MCUNETS["in3"],
        "MCUNet, the configuration mcunet-320kb-1mb_imagenet.json of github.com/mit-han-lab/tinyml",
        "mcunet-f746",
    ),
    **{
        f"mcunet-{name}": _mcunet(net, f"MIT's MCUNet {name}, as its public .tflite", f"mcunet-{name}", exported=True)
        for name, net in MCUNETS.items()
    },
    "proxyless-mit": Architecture(
        "ProxylessNAS mobile as MIT scales and stores it",
        (*_PROXYLESS, *_HEAD),
        rounding="up-8",
        exported=True,
        example="proxyless-mit-w0.30-r176",
    ),
    "mbv2-mit": Architecture(
        "MobileNetV2 as MIT scales and stores it",
        (*_MOBILENET_V2, *_HEAD),
        rounding="near-8",
        exported=True,
        example="mbv2-mit-w0.35-r144",
    ),
    "mobilenet-v1": Architecture(
        "MobileNetV1",
        (
            ("conv", 3, 2, 32),
            *(
                layer
                for channels, stride in (
                    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
                    *[(512, 1)] * 5, (1024, 2), (1024, 1),
                )
                for layer in (("depthwise", 3, stride), ("conv", 1, 1, channels))
            ),
            *_HEAD,
            ("softmax",),
        ),
        rounding="near-8",
        example="mobilenet-v1-w0.25-r096",
    ),
    "mobilenet-v2": Architecture(
        "MobileNetV2",
        (*_MOBILENET_V2, ("global_pool",), ("flatten",), ("dense", 1000), ("softmax",)),
        rounding="near-8",
        fixed_head=True,
        example="mobilenet-v2-w0.35-r096",
    ),
    "cifar10-arm": Architecture(
        "the CIFAR-10 network of CMSIS-NN",
        (
            ("conv", 5, 1, 32),
            ("max_pool", 3, 2),
            ("conv", 5, 1, 32),
            ("average_pool", 3, 2),
            ("conv", 5, 1, 64),
            ("average_pool", 3, 2),
            ("flatten",),
            ("dense", 10),
            ("softmax",),
        ),
        activation="RELU",
        input=(32, 32, 3),
        example="cifar10-arm",
    ),
    "small-cifar": Architecture(
        "SmallCifar of the MCUNet paper; it does not give its pools, here 3x3 of stride 2 as in cifar10-arm",
        (
            ("conv", 5, 1, 32),
            ("max_pool", 3, 2),
            ("conv", 5, 1, 32),
            ("max_pool", 3, 2),
            ("conv", 5, 1, 64),
            ("max_pool", 3, 2),
            ("flatten",),
            ("dense", 10),
        ),
        activation="RELU",
        input=(32, 32, 3),
        example="small-cifar",
    ),
    "ds-cnn": Architecture(
        "keyword spotting DS-CNN, as the MLPerf Tiny reference",
        (
            ("conv", (10, 4), 2, 64),
            *(("depthwise", 3, 1), ("conv", 1, 1, 64)) * 4,
            ("global_pool",),
            ("flatten",),
            ("dense", 12),
            ("softmax",),
        ),
        activation="RELU",
        input=(49, 10, 1),
        example="ds-cnn",
    ),
    "figure-1": Architecture(
        "the branching graph of Liberis & Lane 2019, Figure 1",
        (
            ("conv", 1, 1, 64),
            ("save", "1"),
            ("conv", 1, 1, 32),
            ("conv", 3, 2, 32),
            ("save", "3"),
            ("from", "1"),
            ("conv", 3, 2, 32),
            ("save", "4"),
            ("from", "3"),
            ("conv", 1, 1, 16),
            ("save", "5"),
            ("from", "4"),
            ("conv", 1, 1, 16),
            ("concatenate", "5"),
        ),
        input=(7, 7, 32),
        example="figure-1",
    ),
}  # fmt: skip
