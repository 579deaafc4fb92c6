"""A valid graph of each operator."""

from __future__ import annotations

from mcusim.model import Graph
from tests.support.graphs.small_graphs import WINDOW, activation, constant, convolution, one_operator, zeros

MAP, ROW = (1, 6, 4, 8), (1, 8)
GOOD: dict[str, Graph] = {
    "ADD": one_operator("ADD", [activation(MAP), activation((1, 1, 1, 8))], [activation(MAP)], activation="RELU"),
    "SUB": one_operator("SUB", [activation(MAP), activation(MAP)], [activation(MAP)], activation="NONE"),
    "MUL": one_operator("MUL", [activation(MAP), zeros((8,))], [activation(MAP)], activation="RELU6"),
    "MEAN": one_operator("MEAN", [activation(MAP), constant([1, 2])], [activation((1, 1, 1, 8))], keep_dims=True),
    "PAD": one_operator(
        "PAD", [activation(MAP), constant([[0, 0], [1, 0], [2, 1], [0, 0]])], [activation((1, 7, 7, 8))]
    ),
    "RESHAPE": one_operator("RESHAPE", [activation(MAP)], [activation((1, 192))]),
    "SQUEEZE": one_operator("SQUEEZE", [activation((1, 1, 1, 8))], [activation((8,))]),
    "EXPAND_DIMS": one_operator("EXPAND_DIMS", [activation(ROW), constant([0])], [activation((1, 1, 8))]),
    "RELU": one_operator("RELU", [activation(MAP)], [activation(MAP)]),
    "RELU6": one_operator("RELU6", [activation(MAP)], [activation(MAP)]),
    "LEAKY_RELU": one_operator("LEAKY_RELU", [activation(MAP)], [activation(MAP)], alpha=0.5),
    "LOGISTIC": one_operator("LOGISTIC", [activation(MAP)], [activation(MAP)]),
    "TANH": one_operator("TANH", [activation(MAP)], [activation(MAP)]),
    "HARD_SWISH": one_operator("HARD_SWISH", [activation(MAP)], [activation(MAP)]),
    "SOFTMAX": one_operator("SOFTMAX", [activation(ROW)], [activation(ROW)], beta=2.0),
    "QUANTIZE": one_operator("QUANTIZE", [activation(ROW, "float32")], [activation(ROW)]),
    "DEQUANTIZE": one_operator("DEQUANTIZE", [activation(ROW, "int8")], [activation(ROW, "float32")]),
    "STRIDED_SLICE": one_operator(
        "STRIDED_SLICE", [activation(MAP), constant([0, 1, 3, 0]), constant([1, -1, 0, 0]), constant([1, 2, -1, 1])],
        [activation((1, 2, 4, 8))], begin_mask=4, end_mask=12,
    ),
    "SLICE": one_operator(
        "SLICE", [activation(MAP), constant([0, 1, 0, 0]), constant([1, 2, -1, 8])], [activation((1, 2, 4, 8))]
    ),
    "SPLIT": one_operator("SPLIT", [constant([-1]), activation(MAP)], [activation((1, 6, 4, 4))] * 2, num_splits=2),
    "TRANSPOSE": one_operator("TRANSPOSE", [activation(MAP), constant([0, 3, 1, 2])], [activation((1, 8, 6, 4))]),
    "RESIZE_NEAREST_NEIGHBOR": one_operator(
        "RESIZE_NEAREST_NEIGHBOR", [activation(MAP), constant([12, 8])], [activation((1, 12, 8, 8))]
    ),
    "CONCATENATION": one_operator(
        "CONCATENATION", [activation(MAP), activation((1, 2, 4, 8))], [activation((1, 8, 4, 8))], axis=-3,
        activation="NONE",
    ),
    "CONV_2D": convolution(MAP, (5, 3, 3, 8), (1, 3, 2, 5), stride_h=2, stride_w=2, activation="RELU6"),
    "DEPTHWISE_CONV_2D": convolution(MAP, (1, 3, 3, 16), (1, 2, 2, 16), padding="VALID", dilation_h=2),
    "FULLY_CONNECTED": one_operator("FULLY_CONNECTED", [activation(MAP), zeros((3, 8))], [activation((24, 3))]),
    "AVERAGE_POOL_2D": one_operator(
        "AVERAGE_POOL_2D", [activation(MAP)], [activation((1, 1, 1, 8))],
        **(WINDOW | {"padding": "VALID", "filter_h": 6, "filter_w": 4}),
    ),
}  # fmt: skip
CONV, ADD = GOOD["CONV_2D"], GOOD["ADD"]
