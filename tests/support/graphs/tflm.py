"""TensorFlow Lite Micro, from its wheel: runs a file, and says what its arena holds."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import pytest

Array = np.ndarray[Any, Any]
ARENA = 16 << 20


def runtime() -> Any:
    """The wheel's interpreter module; the test is skipped where the wheel is not installed."""
    return pytest.importorskip(
        "tflite_micro.python.tflite_micro.runtime", reason="TFLite Micro is not installed (pip install tflite-micro)"
    )


class TFLM:
    """One file in an interpreter of its own. RuntimeError with what TFLM printed when it refuses the file."""

    def __init__(self, data: bytes) -> None:
        module = runtime()
        with _printed() as file:
            try:
                self.interpreter: Any = module.Interpreter.from_bytes(data, arena_size=ARENA)
            except RuntimeError as error:
                raise RuntimeError(f"{error}: {_text(file)}") from None

    @property
    def head(self) -> int:
        """Bytes of the arena's head: activations and the kernels' scratch buffers."""
        with _printed() as file:
            self.interpreter.print_allocations()
            found = re.search(r"Arena allocation head (\d+) bytes", _text(file))
        assert found
        return int(found[1])

    def run(self, *inputs: Array, outputs: int = 1) -> list[Array]:
        """The first ``outputs`` outputs for ``inputs``."""
        for i, values in enumerate(inputs):
            self.interpreter.set_input(values, i)
        self.interpreter.invoke()
        return [np.array(self.interpreter.get_output(i)) for i in range(outputs)]


@contextmanager
def _printed() -> Iterator[IO[bytes]]:
    """What is written to the standard outputs, below Python too, goes to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as file:
        for target in (1, 2):
            os.dup2(file.fileno(), target)
        try:
            yield file
        finally:
            for target, old in zip((1, 2), kept, strict=True):
                os.dup2(old, target)
                os.close(old)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
