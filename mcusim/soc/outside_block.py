"""Register blocks whose behaviour is from outside the package: ``kind`` in a machine file is the path of a file, or the
name of an entry point ``mcusim.peripherals`` that names a module.

It has a class ``BLOCK``, derived from :class:`~mcusim.soc.register_block.RegisterBlock`, and ``LAYOUT``, its registers
by name as in ``families/layouts.toml``. Not modelled: lines and channels besides the one interrupt, resets by RCC.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcusim.errors import McusimError, UsageError
from mcusim.machine.description import Peripheral
from mcusim.plug_ins import PlugIn, installed, is_path, load, load_installed, package_of, remember
from mcusim.soc.register_block import BlockHost, Register, RegisterBlock, RegisterLayout
from mcusim.soc.register_layout import registers

KIND = "peripheral"


def block_of(block: Peripheral, host: BlockHost) -> RegisterBlock:
    """The block of a machine file that names its behaviour. Raises UsageError with the file for one that cannot be
    loaded, or has no such class or registers."""
    if is_path(block.kind):
        module, file, digest = load(KIND, block.kind)
        package = ""
    else:
        point = installed(KIND)[block.kind]
        module, file, digest = load_installed(KIND, point)
        package = package_of(point)
    remember([PlugIn(KIND, block.kind, file, digest, package)])
    kind, layout = getattr(module, "BLOCK", None), getattr(module, "LAYOUT", None)
    if not isinstance(kind, type) or not issubclass(kind, RegisterBlock):
        raise UsageError(f"{file}: has no BLOCK that is a class derived from mcusim.soc.register_block.RegisterBlock")
    by_offset = _registers(layout, block, host, file)
    return kind(block.name, block.base, block.size, RegisterLayout(by_offset), host, block.irq)


def _registers(layout: Any, block: Peripheral, host: BlockHost, file: str) -> dict[int, Register]:
    try:
        if not isinstance(layout, Mapping) or not layout or not all(isinstance(t, Mapping) for t in layout.values()):
            raise TypeError("a mapping of names to mappings with an offset each is wanted")
        by_offset = registers(layout, host.clock)
    except (KeyError, TypeError, ValueError, McusimError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"{file}: LAYOUT is no table of registers: {what}") from None
    for offset, register in by_offset.items():
        if not isinstance(offset, int) or offset % 4 or not 0 <= offset < block.size:
            raise UsageError(
                f"{file}: LAYOUT: {register.name} has offset {offset!r}: is a multiple of 4 below the block's"
                f" {block.size:,} B (peripherals.{block.name}.size)"
            )
    if len(by_offset) < len(layout):
        raise UsageError(f"{file}: LAYOUT: two registers have one offset")
    return by_offset
