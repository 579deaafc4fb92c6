"""Networks that keep state from one inference to the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.model import Graph, Operator, Quantization, Tensor

Array = np.ndarray[Any, Any]
Q = Quantization((2.0**-4,), (-3,))


class Stream:
    """Tensors and operators, one after the other."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []

    def tensor(self, shape: tuple[int, ...], data: Any = None, q: Quantization | None = Q, dtype: str = "int8") -> int:
        data = None if data is None else np.asarray(data, dtype)
        self.tensors.append(Tensor(len(self.tensors), f"t{len(self.tensors)}", shape, dtype, q, data))
        return len(self.tensors) - 1

    def table(self, values: list[int]) -> int:
        return self.tensor((len(values),), values, None, "int32")

    def variable(
        self, shape: tuple[int, ...], initial: Array | None, q: Quantization | None = Q, dtype: str = "int8"
    ) -> int:
        index = len(self.tensors)
        self.tensors.append(Tensor(index, f"state{index}", shape, dtype, q, None, True, initial))
        return index

    def op(self, kind: str, inputs: list[int], shape: tuple[int, ...] = (), out: int = -1, **options: Any) -> int:
        out = self.tensor(shape) if out < 0 else out
        self.operators.append(Operator(len(self.operators), kind, tuple(inputs), (out,), options))
        return out

    def graph(self, inputs: tuple[int, ...], outputs: tuple[int, ...], name: str = "stream") -> Graph:
        return Graph(name, tuple(self.tensors), tuple(self.operators), inputs, outputs, "")


def ring(s: Stream, new: int, rows: int, channels: int, initial: Array | None) -> int:
    """The last ``rows`` inputs and the new one, kept in a variable, as microWakeWord's networks do."""
    state, old = kept_rows(s, rows, channels, initial)
    return joined(s, state, old, new, rows, channels)


def kept_rows(s: Stream, rows: int, channels: int, initial: Array | None) -> tuple[int, int]:
    """A variable, and what is read of it."""
    state = s.variable((1, rows, 1, channels), initial)
    return state, s.op("READ_VARIABLE", [state], (1, rows, 1, channels))


def joined(s: Stream, state: int, old: int, new: int, rows: int, channels: int) -> int:
    """The old rows and the new one, of which the last ones are kept."""
    both = s.op("CONCATENATION", [old, new], (1, rows + 1, 1, channels), axis=1, activation="NONE")
    tables = [s.table(values) for values in ([0, 1, 0, 0], [1, rows + 1, 1, channels], [1, 1, 1, 1])]
    kept = s.op("STRIDED_SLICE", [both, *tables], (1, rows, 1, channels), begin_mask=0, end_mask=0, ellipsis_mask=0,
                new_axis_mask=0, shrink_axis_mask=0)  # fmt: skip
    s.op("ASSIGN_VARIABLE", [kept], out=state)
    return both


def wake_word(seed: int = 0, channels: int = 8) -> Graph:
    """Two rings, the second without an initial value, each followed by a convolution over it."""
    s = Stream(seed)
    source = last = s.tensor((1, 1, 1, channels))
    initial = s.rng.integers(-9, 9, (1, 3, 1, channels), np.int8)
    states = {rows: kept_rows(s, rows, channels, initial if rows == 3 else None) for rows in (2, 3)}
    for rows in (3, 2):
        both = joined(s, *states[rows], last, rows, channels)
        shape = (channels, rows + 1, 1, channels)
        filters = s.tensor(shape, s.rng.integers(-127, 128, shape), Quantization((2.0**-7,), (0,)))
        bias = s.tensor((channels,), s.rng.integers(-99, 99, channels), Quantization((2.0**-11,), (0,)), "int32")
        last = s.op("CONV_2D", [both, filters, bias], (1, 1, 1, channels), padding="VALID", stride_h=1, stride_w=1,
                    dilation_h=1, dilation_w=1, activation="NONE")  # fmt: skip
    return s.graph((source,), (last,), "wake-word")


def _scale(s: Stream, low: float, high: float) -> float:
    return float(np.float32(2.0 ** s.rng.uniform(low, high)))


def _matrix(s: Stream, shape: tuple[int, ...], scale: float, dtype: str = "int8") -> int:
    most = np.iinfo(dtype).max
    return s.tensor(shape, s.rng.integers(-most, most, shape, endpoint=True), Quantization((scale,), (0,)), dtype)


def _bias(s: Stream, count: int, reach: int, scale: float) -> int:
    return s.tensor((count,), s.rng.integers(-reach, reach, count), Quantization((scale,), (0,)), "int32")


def svdf(seed: int) -> Graph:
    """One SVDF of random sizes; state in int8 or int16."""
    s = Stream(seed)
    batch, depth, units, rank, memory = (int(s.rng.integers(1, most + 1)) for most in (2, 20, 9, 3, 9))
    dtype = str(s.rng.choice(["int8", "int16"]))
    scales = {"input": _scale(s, -6, -3), "features": _scale(s, -8, -6)}
    reach = scales["input"] * scales["features"] * 100 * 60 * depth**0.5
    state_scale = float(np.float32(reach / (100 if dtype == "int8" else 25_000)))
    time_scale = _scale(s, -9, -7) if dtype == "int8" else _scale(s, -17, -15)
    out = reach * memory**0.5 * rank * time_scale * (64 if dtype == "int8" else 16_000) / 60
    source = s.tensor((batch, depth), q=Quantization((scales["input"],), (int(s.rng.integers(-128, 128)),)))
    features = _matrix(s, (units * rank, depth), scales["features"])
    time = _matrix(s, (units * rank, memory), time_scale, dtype)
    bias = _bias(s, units, 300, float(np.float32(state_scale * time_scale)))
    point = int(s.rng.integers(-60, 60)) if dtype == "int8" else 0
    shape = (batch, memory * units * rank)
    state = s.variable(shape, None, Quantization((state_scale,), (point,)), dtype)
    result = s.tensor((batch, units), q=Quantization((float(np.float32(out)),), (int(s.rng.integers(-128, 128)),)))
    s.op("SVDF", [source, features, time, bias, state], out=result, rank=rank, activation="NONE")
    return s.graph((source,), (result,), "svdf")


def lstm(seed: int) -> Graph:
    """One LSTM of random sizes."""
    s = Stream(seed)
    batch, steps, depth, units = (int(s.rng.integers(1, most + 1)) for most in (2, 4, 20, 12))
    major = bool(s.rng.integers(2))
    source = s.tensor((steps, batch, depth) if major else (batch, steps, depth),
                      q=Quantization((_scale(s, -6, -4),), (int(s.rng.integers(-128, 128)),)))  # fmt: skip
    weights = [_matrix(s, (units, depth), _scale(s, -9, -6)) for _ in range(4)]
    recurrent = [_matrix(s, (units, units), _scale(s, -9, -6)) for _ in range(4)]
    biases = [_bias(s, units, 900, 2.0**-12) for _ in range(4)]
    hidden_q = Quantization((_scale(s, -7.5, -6.5),), (int(s.rng.integers(-20, 20)),))
    hidden = s.variable((batch, units), None, hidden_q)
    power = int(s.rng.integers(-16, -9))
    cell = s.variable((batch, units), None, Quantization((2.0**power,), (0,)), "int16")
    result = s.tensor((*s.tensors[source].shape[:2], units), q=hidden_q)
    inputs = [source, *weights, *recurrent, *[-1] * 3, *biases, -1, -1, hidden, cell, *[-1] * 4]
    clip = float(s.rng.choice([0.0, 0.25, 10.0]))
    s.op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, out=result, activation="TANH", cell_clip=clip, time_major=major)
    return s.graph((source,), (result,), "lstm")
