"""Tables of 8-bit functions against TensorFlow Lite Micro's, which computes them in float32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mcusim.kernels.calls.lookup_tables import lookup_table
from mcusim.model import Quantization
from tests.support.graphs.small_graphs import activation, one_operator
from tests.support.graphs.tflite_writer import write_tflite
from tests.support.graphs.tflm import TFLM

SCALES = [(0.01, 0, 0.01, 0), (0.05, 7, 0.03, -100), (0.4, -128, 0.02, 5), (0.0007, 127, 0.9, 0), (1e-6, 3, 1e-6, 9)]


@pytest.mark.parametrize(("scale", "zero", "out_scale", "out_zero"), SCALES)
def test_elu(scale: float, zero: int, out_scale: float, out_zero: int) -> None:
    source = replace(activation((1, 256)), quantization=Quantization((scale,), (zero,)))
    target = replace(activation((1, 256)), quantization=Quantization((out_scale,), (out_zero,)))
    values = np.arange(-128, 128, dtype=np.int8)
    [wanted] = TFLM(write_tflite(one_operator("ELU", [source], [target]))).run(values.reshape(1, 256))
    assert lookup_table("elu", source, target) == wanted.tobytes()
