"""Where a command or a caller points in a program's memory: addresses, symbols, files to load, ranges to dump."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcusim.errors import UsageError
from mcusim.units import parse_size, quoted

if TYPE_CHECKING:
    from mcusim.emulator.emulator import Emulator
    from mcusim.image.image import Image

_NUMBER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|[0-9]+(?:_[0-9]+)*)", re.ASCII)
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class DumpRange:
    """``size`` bytes at ``address``; ``name`` when a symbol was given for it."""

    address: int
    size: int
    name: str | None = None


def number(text: str) -> int | None:
    """A decimal or hexadecimal integer with an optional sign, or None; ``_`` is allowed between digits."""
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    digits = text.lstrip("+-").replace("_", "")
    value = int(digits, 16 if digits[:2].lower() == "0x" else 10)
    return -value if text.startswith("-") else value


def word_of(image: Image, value: int | str, what: str) -> int:
    """A 32-bit word: an integer from -2**31 to 2**32 - 1, or the address of a symbol (a function's with Thumb bit)."""
    found = number(value.strip()) if isinstance(value, str) else value
    if isinstance(found, bool) or not isinstance(found, int | None):
        raise UsageError(f"{what} {repr(value)[:80]}: must be an integer or a symbol's name")
    if found is None:
        return _symbol(image, str(value), what)[0]
    if not -(1 << 31) <= found < 1 << 32:
        raise UsageError(f"{what} {quoted(found)}: does not fit 32 bits, -2147483648 to 4294967295")
    return found & 0xFFFF_FFFF


def address_of(image: Image, value: int | str, what: str) -> tuple[int, str | None, int]:
    """``(address, symbol's name or None, symbol's size)``; the address without a Thumb bit."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str) and number(text) is None:
        word, size = _symbol(image, text, what)
        symbol = image.symbol(text)
        return (symbol.address if symbol.kind != "label" else word), text, size
    address = number(text) if isinstance(text, str) else text
    if isinstance(address, bool) or not isinstance(address, int) or not 0 <= address < 1 << 32:
        raise UsageError(f"{what} {quoted(value)}: an address is 0 to 0xffffffff, or a symbol's name")
    return address, None, 0


def _symbol(image: Image, name: str, what: str) -> tuple[int, int]:
    if not name.strip():
        raise UsageError(f"{what}: is empty; give a number or a symbol's name")
    symbol = image.symbol(name.strip())
    return symbol.address | symbol.thumb, symbol.size


def load_file(emulator: Emulator, image: Image, text: str) -> None:
    """Put a file into memory as ``FILE@ADDRESS`` says. Raises UsageError, ImageError for an unknown symbol."""
    file, at, where = text.rpartition("@")
    if not at or not file or not where:
        raise UsageError(f"--load {quoted(text)}: needs FILE@ADDRESS, as in input.bin@0x20010000 or input.bin@buffer")
    what = f"--load {quoted(text)}: address"
    address, name, size = address_of(image, where, what)
    data = _file(Path(file), emulator, address)
    if name is not None and 0 < size < len(data):
        raise UsageError(f"--load {quoted(text)}: {len(data):,} B do not fit {name}, which has {size:,} B")
    emulator.write(address, data)


def _file(path: Path, emulator: Emulator, address: int) -> bytes:
    """The bytes of a file that fits at ``address``; what is no regular file is not even opened."""
    try:
        stat_result = path.stat()
        if not stat.S_ISREG(stat_result.st_mode):
            raise UsageError(f"--load {path}: not a regular file")
        if stat_result.st_size == 0:
            raise UsageError(f"--load {path}: the file is empty")
        emulator.read(address, stat_result.st_size)
        with path.open("rb") as file:
            return file.read(stat_result.st_size)
    except (OSError, ValueError) as error:
        raise UsageError(f"--load {path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except UsageError as error:
        message = str(error)
        raise UsageError(message if message.startswith("--load") else f"--load {path}: {message}") from None


def dump_range(emulator: Emulator, image: Image, text: str) -> DumpRange:
    """``ADDRESS:SIZE`` or ``SYMBOL`` as a range, all of it in memory. Raises UsageError or ImageError."""
    where, _, size_text = text.partition(":")
    what = f"--dump {quoted(text)}"
    address, name, known = address_of(image, where, f"{what}: address")
    size = _size(size_text, what) if size_text else known
    if size < 1:
        raise UsageError(f"{what}: needs ADDRESS:SIZE with at least one byte, as in 0x20010000:64")
    try:
        emulator.read(address, size)
    except UsageError as error:
        raise UsageError(f"{what}: {error}") from None
    return DumpRange(address, size, name)


def _size(text: str, what: str) -> int:
    plain = number(text.strip())
    if plain is None and not text.strip()[-1:].isalpha():
        raise UsageError(f'{what}: size {quoted(text)} is not a number of bytes, nor one with a unit ("4 KiB")')
    return parse_size(text) if plain is None else plain
