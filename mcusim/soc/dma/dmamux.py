"""DMAMUX: which request goes to which stream or channel.

Registers: ST RM0432 12.6 and RM0433 17.6. Not modelled: synchronisation of requests, the request generators, events,
and their interrupt.
"""

from __future__ import annotations

from mcusim.soc.register_block import BlockHost, Register, RegisterBlock

REQUEST = 0x7F


class Dmamux(RegisterBlock):
    """``channels`` registers, one for each stream or channel behind it."""

    def __init__(self, name: str, base: int, channels: int, host: BlockHost) -> None:
        registers = {4 * n: Register(f"C{n}CR", writable=0x1FFF_037F) for n in range(channels)}
        registers[0x80] = Register("CSR", writable=0)
        registers[0x84] = Register("CFR", self_clearing=0xFFFF_FFFF)
        super().__init__(name, base, 0x400, registers, host)

    def selected(self, channel: int) -> int:
        """The number of the request that ``channel`` listens to; 0: none."""
        return self.word(4 * channel) & REQUEST
