"""Files that leave the batch open."""

from __future__ import annotations

from typing import Any

import pytest
import tflite

from mcusim.model import Tensor
from tests.support.graphs.tflite_writer import Unchecked


class Open(Unchecked):
    """Files whose signatures leave the first size of each tensor open."""

    def table(self, tensor: Tensor, buffer: int) -> int:
        signature, end = self.numbers([-1, *tensor.shape[1:]]), tflite.TensorEnd

        def signed(builder: Any) -> int:
            tflite.TensorAddShapeSignature(builder, signature)
            return int(end(builder))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tflite, "TensorEnd", signed)
            return super().table(tensor, buffer)
