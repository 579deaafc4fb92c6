"""Register blocks whose behaviour is from outside the package: ``kind`` in a machine file is the path of a file, or the
name of an entry point ``mcusim.peripherals`` that names a module.

It has a class ``BLOCK``, derived from :class:`~mcusim.soc.register_block.RegisterBlock`, and ``LAYOUT``, its registers
by name as in ``families/layouts.toml``. Not modelled: lines and channels besides the one interrupt, resets by RCC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mcusim.errors import McusimError, UsageError
from mcusim.machine.description import Peripheral
from mcusim.plug_ins import guarded, load_named, remember
from mcusim.soc.register_block import WORD, BlockHost, Register, RegisterBlock, RegisterLayout
from mcusim.soc.register_layout import registers

KIND = "peripheral"
_BITS = ("reset", "writable", "w1c", "w0c", "self_clearing", "read_clears")


def block_of(block: Peripheral, host: BlockHost) -> RegisterBlock:
    """The block of a machine file that names its behaviour. Raises UsageError with the file for one that cannot be
    loaded, or has no such class or registers."""
    module, plug_in = load_named(KIND, block.kind)
    remember([plug_in])
    file, name = plug_in.file, plug_in.short_name
    kind, layout = getattr(module, "BLOCK", None), getattr(module, "LAYOUT", None)
    if not isinstance(kind, type) or not issubclass(kind, RegisterBlock):
        raise UsageError(f"{file}: has no BLOCK that is a class derived from mcusim.soc.register_block.RegisterBlock")
    by_offset = _registers(layout, block, host, file)
    layout = RegisterLayout(by_offset)
    with guarded(KIND, name, file):
        return _guarded(kind, name, file)(block.name, block.base, block.size, layout, host, block.irq)


def _guarded(kind: type[RegisterBlock], name: str, file: str) -> type[RegisterBlock]:
    """The class whose errors are one line with that of its file. They end the run once the emulator's callback is left,
    where none may be raised; what the class prints is not the output of the command."""

    class Guarded(kind):  # type: ignore[valid-type, misc]
        def _safely(self, call: Callable[[], Any], otherwise: int = 0) -> int:
            try:
                with guarded(KIND, name, file):
                    value = call()
                if not isinstance(value, int):
                    text = f"on_read returns a {type(value).__name__}, not a whole number"
                    raise UsageError(f"{KIND} {name}: {Path(file).name}: {text}")
            except BaseException as error:
                self.host.at(self.host.cycles, partial(_raise, error))
                return otherwise
            return value

        def on_read(self, register: str, word: int) -> int:
            return self._safely(lambda: super(Guarded, self).on_read(register, word), word)

        def on_write(self, register: str, value: int, old: int) -> None:
            def call() -> int:
                super(Guarded, self).on_write(register, value, old)
                return 0

            self._safely(call)

    Guarded.__name__ = kind.__name__
    return Guarded


def _raise(error: BaseException) -> None:
    raise error


def _registers(layout: Any, block: Peripheral, host: BlockHost, file: str) -> dict[int, Register]:
    try:
        if not isinstance(layout, Mapping) or not layout or not all(isinstance(t, Mapping) for t in layout.values()):
            raise TypeError("a mapping of names to mappings with an offset each is wanted")
        by_offset = registers(layout, host.clock)
    except (KeyError, TypeError, ValueError, AttributeError, McusimError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"{file}: LAYOUT is no table of registers: {what}") from None
    for offset, register in by_offset.items():
        if not isinstance(offset, int) or offset % 4 or not 0 <= offset < block.size:
            raise UsageError(
                f"{file}: LAYOUT: {register.name} has offset {offset!r}: is a multiple of 4 below the block's"
                f" {block.size:,} B (peripherals.{block.name}.size)"
            )
        bits = [getattr(register, field) for field in _BITS]
        wrong = next((value for value in bits if type(value) is not int or not 0 <= value <= WORD), None)
        if wrong is not None:
            raise UsageError(f"{file}: LAYOUT: {register.name} has {wrong!r}: must be a whole number of 32 bits")
    if len(by_offset) < len(layout):
        raise UsageError(f"{file}: LAYOUT: two registers have one offset")
    return by_offset
