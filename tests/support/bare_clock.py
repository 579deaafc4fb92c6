"""A core next to a register block that has nothing but a clock."""

from __future__ import annotations

from collections.abc import Callable


class Clock:
    """A core that only has a clock; callbacks and interrupt lines are kept."""

    clock = core_clock = 1_000_000

    def __init__(self) -> None:
        self.cycles, self.shown = 0, b""
        self.calls: list[tuple[int, Callable[[], None]]] = []
        self.lines: set[int] = set()
        self.ended = "", ""
        self.flash = bytearray(b"\xff" * (16 << 20))
        self.findings: list[str] = []
        self.noted_rules: list[str] = []
        self.pc = 0

    def dividers(self, bus: str) -> tuple[int, int]:
        return (2, 1) if bus == "apb1" else (1, 1)

    def sdram_commanded(self, missing: dict[int, str]) -> None:
        self.missing = missing

    def remapped(self, at_zero: int, swapped: bool) -> None:
        self.at_zero, self.swapped = at_zero, swapped

    def reset_blocks(self, register: str, bits: int) -> None:
        self.held = register, bits

    @property
    def flash_size(self) -> int:
        return len(self.flash)

    def read_flash(self, offset: int, size: int) -> bytes:
        return bytes(self.flash[offset : offset + size])

    def write_flash(self, offset: int, data: bytes) -> None:
        self.flash[offset : offset + len(data)] = data

    def stop(self, kind: str, text: str) -> None:
        self.ended = kind, text

    def resets(self, cause: str, text: str) -> None:
        self.ended = cause, text

    def warn(self, text: str) -> None:
        self.findings.append(text)

    def report(self, rule: str, text: str, fix: str, pc: int, address: int) -> None:
        self.noted_rules.append(rule)

    def output(self, data: bytes) -> None:
        self.shown += data

    def at(self, cycle: int, callback: Callable[[], None]) -> None:
        self.calls.append((cycle, callback))

    def raise_line(self, irq: int) -> None:
        self.lines.add(irq)

    def lower_line(self, irq: int) -> None:
        self.lines.discard(irq)
