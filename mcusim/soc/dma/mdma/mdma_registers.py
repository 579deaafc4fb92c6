"""The registers of a channel of the STM32H7's MDMA, and what their fields ask for.

Fields: ST RM0433 14.5, compared with the header of ST's CMSIS device package. Not modelled: linked lists (CLAR), the
mask registers (CMAR, CMDR), exchange of bytes (BEX, HEX, WEX), and padding other than zeros on the left (PAM).
"""

from __future__ import annotations

from dataclasses import dataclass

ENABLE, REQUEST = 1, 1 << 16  # in CCR; in CISR the latter's place shows that a request is being served
ERROR, CHANNEL, BLOCKS, BLOCK, BUFFER = 1, 2, 4, 8, 16  # flags in CISR
FLAG_NAMES = {"TEIF": ERROR, "CTCIF": CHANNEL, "BRTIF": BLOCKS, "BTIF": BLOCK, "TCIF": BUFFER}
WRITING, ADDRESS_ERROR, BLOCK_ERROR = 1 << 7, 1 << 10, 1 << 11  # in CESR
BURSTS = tuple(1 << n for n in range(8))


@dataclass(frozen=True, slots=True)
class MdmaSetting:
    """What CTCR asks for. Sizes, steps (from one address to the next) and ``buffer`` in bytes; bursts in beats.

    ``trigger``: what one request moves: 0 a buffer, 1 a block, 2 all blocks, 3 a list. ``software``: a request is made
    by CCR.SWRQ.
    """

    source_size: int
    target_size: int
    source_step: int
    target_step: int
    source_burst: int
    target_burst: int
    buffer: int
    packs: bool
    trigger: int
    software: bool

    @classmethod
    def read(cls, tcr: int) -> MdmaSetting:
        """The fields of CTCR."""
        signs = (0, 0, 1, -1)
        return cls(
            source_size=1 << (tcr >> 4 & 3),
            target_size=1 << (tcr >> 6 & 3),
            source_step=signs[tcr & 3] << (tcr >> 8 & 3),
            target_step=signs[tcr >> 2 & 3] << (tcr >> 10 & 3),
            source_burst=BURSTS[tcr >> 12 & 7],
            target_burst=BURSTS[tcr >> 15 & 7],
            buffer=(tcr >> 18 & 0x7F) + 1,
            packs=bool(tcr >> 25 & 1),
            trigger=tcr >> 28 & 3,
            software=bool(tcr >> 30 & 1),
        )

    @property
    def plain(self) -> bool:
        """Whether both sides go up by their sizes, or stay, and bytes go as they are."""
        steps = self.source_step in (0, self.source_size) and self.target_step in (0, self.target_size)
        return steps and (self.packs or self.source_size == self.target_size)

    def wrong(self, source: int, target: int, size: int) -> int:
        """The bits of CESR for addresses and a block of ``size`` bytes that do not go with the sizes; 0: all do."""
        wrong = 0
        if size % self.source_size or size % self.target_size or size == 0:
            wrong |= BLOCK_ERROR
        for address, unit, step in (
            (source, self.source_size, self.source_step),
            (target, self.target_size, self.target_step),
        ):
            if address % unit or (step and abs(step) < unit):
                wrong |= ADDRESS_ERROR
        return wrong


def enabled_events(ccr: int) -> int:
    """The flags that CCR lets interrupt the core: TEIE, CTCIE, BRTIE, BTIE and TCIE are one bit above the flags."""
    return ccr >> 1 & 0x1F
