"""LiteRT, the runtime of ``.tflite`` files, as an independent reader of what mcusim writes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, Any]
RESOLVERS = ("BUILTIN", "BUILTIN_REF")


class LiteRT:
    """One file under one set of kernels: ``BUILTIN`` (optimised) or ``BUILTIN_REF`` (the reference)."""

    def __init__(self, data: bytes, resolver: str = "BUILTIN_REF", keep: bool = False) -> None:
        interpreter = pytest.importorskip(
            "ai_edge_litert.interpreter", reason="LiteRT is not installed (pip install ai-edge-litert)"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # keeping tensors warns of memory
            self.interpreter: Any = interpreter.Interpreter(
                model_content=data,
                experimental_op_resolver_type=getattr(interpreter.OpResolverType, resolver),
                experimental_preserve_all_tensors=keep,
            )
        self.interpreter.allocate_tensors()

    def run(self, *inputs: Array) -> list[Array]:
        """All outputs for ``inputs``, in the graph's order."""
        for detail, value in zip(self.interpreter.get_input_details(), inputs, strict=True):
            self.interpreter.set_tensor(detail["index"], value)
        self.interpreter.invoke()
        return [self.tensor(detail["index"]) for detail in self.interpreter.get_output_details()]

    def tensor(self, index: int) -> Array:
        return np.array(self.interpreter.get_tensor(index))
