"""The addresses of tensors and arrays that a program's header gives."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from mcusim.program.program import Buffer, Program, steps_of


class TensorHomes:
    """Buffers with a content of their own (not overlays, not scratch) by address; ``producer`` by buffer name."""

    def __init__(self, program: Program) -> None:
        kept = [b for b in program.header.buffers if b.kind not in ("overlay", "scratch")]
        self._buffers = sorted(kept, key=lambda b: b.span.address)
        self._lows = [b.span.address for b in self._buffers]
        self._longest = max((b.span.bytes for b in kept), default=0)
        self._named = {b.name: b for b in kept}
        self._steps = steps_of(program)
        self._operators = {step: operator for operator, step in self._steps.items()}

    def __bool__(self) -> bool:
        return bool(self._buffers)

    def named(self, name: str) -> Buffer | None:
        return self._named.get(name)

    def weights(self) -> list[Buffer]:
        return [b for b in self._buffers if b.kind == "weights"]

    def at(self, address: int, operator: int, written: bool = False) -> Buffer | None:
        """The buffer alive while ``operator`` runs that holds ``address``; None when there is none.

        Where the operator puts a result into the bytes of an input, that is the input, or the result if ``written``.
        """
        return next(iter(self.all_at(address, operator, written)), None)

    def all_at(self, address: int, operator: int, written: bool = False) -> list[Buffer]:
        """As :meth:`at`, with all tensors that share the bytes: a view and what it is a view of."""
        buffers = list(self._around(address, operator))
        step = self._steps.get(operator, operator)
        meant = [buffer for buffer in buffers if (buffer.first == step) is written]
        return meant or buffers

    def producer(self, buffer: Buffer) -> int | None:
        """The operator that computes an activation, by its lifetime."""
        return self._operators.get(buffer.first)

    def _around(self, address: int, operator: int) -> Iterator[Buffer]:
        step = self._steps.get(operator, operator)
        for index in range(bisect_right(self._lows, address) - 1, -1, -1):
            buffer = self._buffers[index]
            if buffer.span.address + self._longest <= address:
                return
            if address < buffer.span.end and buffer.first <= step <= buffer.last:
                yield buffer
