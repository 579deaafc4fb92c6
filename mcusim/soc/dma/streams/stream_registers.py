"""The registers of a stream of DMA1 and DMA2 (STM32F4, F7, H7), and what their fields ask for.

Fields: ST RM0090 10.5, the same in RM0385 8.5 and RM0433 15.5. Not modelled: PFCTRL (a peripheral that ends the
transfer before NDTR, forced to 65,535, has counted down), PINCOS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from mcusim.soc.dma.dma_log import Direction

ENABLE = 1
CURRENT_TARGET = 1 << 19
FREE_WHILE_ENABLED = 0x1F  # EN and the interrupt enables; the other fields of CR are protected while EN is set
FIFO_ERROR, DIRECT_ERROR, ERROR, HALF, COMPLETE = 1, 4, 8, 16, 32  # a stream's flags in LISR and HISR
FLAG_NAMES = {"FEIF": FIFO_ERROR, "DMEIF": DIRECT_ERROR, "TEIF": ERROR, "HTIF": HALF, "TCIF": COMPLETE}
FLAG_SHIFTS = (0, 6, 16, 22)  # of streams 0 to 3 in LISR, 4 to 7 in HISR
PERIPHERAL_TO_MEMORY, MEMORY_TO_PERIPHERAL, MEMORY_TO_MEMORY = range(3)
DIRECTIONS: tuple[Direction, ...] = ("peripheral to memory", "memory to peripheral", "memory to memory")
STREAMS = 8  # of a controller; of equal priorities the lower number goes first
BURSTS = (1, 4, 8, 16)
FIFO = 16  # bytes
THRESHOLDS: Final = ("1/4", "1/2", "3/4", "full")


@dataclass(frozen=True, slots=True)
class StreamControl:
    """What CR and FCR of a stream ask for. Sizes in bytes; bursts in beats; ``threshold`` of the FIFO in bytes."""

    direction: int
    circular: bool
    double_buffer: bool
    peripheral_moves: bool
    memory_moves: bool
    peripheral_size: int
    memory_size: int
    peripheral_burst: int
    memory_burst: int
    priority: int
    channel: int
    direct: bool
    threshold: int
    peripheral_ends: bool

    @classmethod
    def read(cls, cr: int, fcr: int) -> StreamControl:
        """The fields of CR and FCR. A transfer between memories always uses the FIFO, and is never circular."""
        direction = cr >> 6 & 3
        copies = direction >= MEMORY_TO_MEMORY
        direct = not fcr & 4 and not copies
        flow = bool(cr >> 5 & 1) and not copies
        double = bool(cr >> 18 & 1) and not copies
        peripheral = 1 << min(2, cr >> 11 & 3)
        return cls(
            direction=min(direction, MEMORY_TO_MEMORY),
            circular=(bool(cr >> 8 & 1) or double) and not copies and not flow,
            double_buffer=double,
            peripheral_moves=bool(cr >> 9 & 1),
            memory_moves=bool(cr >> 10 & 1),
            peripheral_size=peripheral,
            memory_size=peripheral if direct else 1 << min(2, cr >> 13 & 3),
            peripheral_burst=1 if direct else BURSTS[cr >> 21 & 3],
            memory_burst=1 if direct else BURSTS[cr >> 23 & 3],
            priority=cr >> 16 & 3,
            channel=cr >> 25 & 15,
            direct=direct,
            threshold=4 * (1 + (fcr & 3)),
            peripheral_ends=flow,
        )

    @property
    def threshold_name(self) -> Literal["1/4", "1/2", "3/4", "full"]:
        """The threshold as a machine file has it."""
        return THRESHOLDS[self.threshold // 4 - 1]

    @property
    def possible(self) -> bool:
        """False where the hardware reports a FIFO error at once and does not start (ST RM0090 10.3.13, table 48).

        The threshold holds whole bursts of the memory side, no burst is longer than the FIFO, and a peripheral's burst
        of 16 bytes does not go with a threshold of 3/4.
        """
        if self.direct:
            return True
        memory, peripheral = self.memory_size * self.memory_burst, self.peripheral_size * self.peripheral_burst
        if self.memory_burst > 1 and (memory > FIFO or self.threshold % memory):
            return False
        return self.peripheral_burst == 1 or (peripheral <= FIFO and not (peripheral == FIFO and self.threshold == 12))


def enabled_events(cr: int, fcr: int) -> int:
    """The flags that CR and FCR let interrupt the core."""
    enabled = fcr >> 7 & 1  # FEIE -> FEIF
    for bit, flag in ((1, DIRECT_ERROR), (2, ERROR), (3, HALF), (4, COMPLETE)):
        enabled |= flag * (cr >> bit & 1)
    return enabled
