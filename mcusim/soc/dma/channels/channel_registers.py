"""The registers of a channel of the STM32L4's DMA1 and DMA2 and of the H7's BDMA, and what their fields ask for.

Fields: ST RM0432 11.6 and RM0433 16.6, compared with the headers of ST's CMSIS device packages.
"""

from __future__ import annotations

from dataclasses import dataclass

ENABLE, CURRENT_TARGET = 1, 1 << 16
COMPLETE, HALF, ERROR = 2, 4, 8  # a channel's flags in ISR; bit 0 shows that one of them is set
FLAG_NAMES = {"TCIF": COMPLETE, "HTIF": HALF, "TEIF": ERROR}


@dataclass(frozen=True, slots=True)
class ChannelSetting:
    """What CCR of a channel asks for. Sizes in bytes; ``out``: from the address in CMAR to the one in CPAR."""

    out: bool
    copies: bool
    circular: bool
    double_buffer: bool
    peripheral_moves: bool
    memory_moves: bool
    peripheral_size: int
    memory_size: int
    priority: int

    @classmethod
    def read(cls, ccr: int) -> ChannelSetting:
        """The fields of CCR. A transfer between memories is never circular (the two together are not allowed)."""
        copies = bool(ccr >> 14 & 1)
        double = bool(ccr >> 15 & 1) and not copies
        return cls(
            out=bool(ccr >> 4 & 1),
            copies=copies,
            circular=(bool(ccr >> 5 & 1) or double) and not copies,
            double_buffer=double,
            peripheral_moves=bool(ccr >> 6 & 1),
            memory_moves=bool(ccr >> 7 & 1),
            peripheral_size=1 << min(2, ccr >> 8 & 3),
            memory_size=1 << min(2, ccr >> 10 & 3),
            priority=ccr >> 12 & 3,
        )


def enabled_events(ccr: int) -> int:
    """The flags that CCR lets interrupt the core: TCIE, HTIE and TEIE are where the flags are."""
    return ccr & (COMPLETE | HALF | ERROR)
