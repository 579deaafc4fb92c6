"""Checked access to a flatbuffer file: what the generated ``tflite`` classes trust is verified here.

Those classes follow any offset and trust any length. Lengths are compared with the file's size before anything is
read or looped over, the total of all vector elements has a limit (vectors may share bytes, so the file's size alone
does not bound the work), and everything else that goes wrong inside them becomes one ModelError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcusim.errors import ModelError
from mcusim.files import read_guarded

LARGEST_FILE = 256 * 2**20
MOST_ELEMENTS = 4_000_000
LONGEST_NAME = 4096
SHOWN_NAME = 80
RANDOM_WEIGHTS = "random weights"  # in a file's description: the mark of an exported zoo network
_DAMAGE = (
    struct.error, IndexError, KeyError, ValueError, TypeError, OverflowError, AttributeError, AssertionError,
    RecursionError, MemoryError,
)  # fmt: skip


class File:
    """The bytes of a ``.tflite`` file, ``source`` (where they come from) and the place being read, for messages.

    Raises ModelError for bytes without a ``.tflite``'s identifier.
    """

    def __init__(self, data: bytes, source: str | Path) -> None:
        if not data:
            raise ModelError(f"{source}: is empty")
        if data[4:8] != b"TFL3":
            hint = "; a program that was saved is played by mcusim replay" if data.startswith(b'{"format"') else ""
            raise ModelError(
                f"{source}: is not a .tflite file (bytes 4 to 7 are {data[4:8]!r}, a .tflite has b'TFL3'){hint}"
            )
        self.data, self.source = data, source
        self.what = "the root table"
        self.position = 0
        self._left = MOST_ELEMENTS

    def error(self, reason: str) -> ModelError:
        return ModelError(f"{self.source}: cannot read {self.what}: {reason}")

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """Name what the block reads; anything the flatbuffer classes raise becomes a ModelError with that name."""
        self.what = what
        try:
            yield
        except _DAMAGE as error:
            raise self.error(
                f"{error or type(error).__name__} (near byte {self.position:,} of {len(self.data):,};"
                " the file is damaged or not a .tflite)"
            ) from None

    def table(self, table: Any) -> Any:
        """``table`` itself, after its position proved to lie inside the file."""
        position = table._tab.Pos
        if not 0 < position <= len(self.data) - 4:
            raise self.error(f"an offset points to byte {position:,}, the file has {len(self.data):,}")
        self.position = position
        return table

    def count(self, length: int, item: int, most: int, things: str) -> int:
        """``length``, when a vector of it can lie in the file, stays within ``most`` and within the total limit."""
        if length * item > len(self.data):
            raise self.error(f"{length:,} {things} would take more bytes than the file has ({len(self.data):,})")
        if length > most:
            raise self.error(f"{length:,} {things}; at most {most:,} are read")
        self._left -= length
        if self._left < 0:
            raise self.error(f"its vectors have more than {MOST_ELEMENTS:,} elements together")
        return length

    def numbers(self, table: Any, field: str, item: int, most: int) -> list[Any]:
        """The vector ``field`` of ``table`` as Python numbers; an absent one is empty."""
        if self.count(getattr(table, field + "Length")(), item, most, f"elements of {field}") == 0:
            return []
        values: list[Any] = getattr(table, field + "AsNumpy")().tolist()
        return values

    def text(self, table: Any, slot: int) -> str:
        """The string in vtable slot ``slot``, with unprintable characters replaced; "" when absent."""
        fields = table._tab
        offset = fields.Offset(slot)
        if offset == 0:
            return ""
        start = fields.Vector(offset)
        length = self.count(fields.VectorLen(offset), 1, LONGEST_NAME, "characters of a name")
        name = bytes(self.data[start : start + length]).decode("utf-8", "replace")
        return "".join(c if c.isprintable() else "?" for c in name)


def shown(name: str) -> str:
    """``name`` short enough for a message; converters join the names of fused layers."""
    return name if len(name) <= SHOWN_NAME else name[:SHOWN_NAME] + "..."


def read_bytes(path: Path) -> bytes:
    """The bytes of the file at ``path``. Raises ModelError for what is no regular file, too large or not readable."""
    needed = "is a directory; a .tflite file is needed"
    return read_guarded(
        path, LARGEST_FILE, ModelError, too_large=", the most a .tflite file may have", directory=needed
    )
