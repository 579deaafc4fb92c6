"""What a session would have cost over a cable: bytes and round trips, priced for the links that boards have.

Every byte that the host writes or reads is counted, and every time it waits for an answer. A call is a record of its
function and values, a start, the end that is waited for, and its result: three round trips, for a queue of calls as
for one. That communication dominates a session with a board, and that a queue is the way out, is microTVM's
observation (its paper, section "lazy execution").

Not modelled: the probe's own software, retries, programming of flash, links that drop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcusim.errors import UsageError
from mcusim.machine.description import Basis
from mcusim.units import quoted

RECORD, WORD, RESULT = 12, 4, 8  # bytes: function, number of words, where the result goes; r0 and r1


@dataclass(frozen=True)
class HostLink:
    """A way from host to board: bytes a second, and seconds that the host waits for each answer."""

    name: str
    bytes_per_second: float
    round_trip: float
    source: str
    basis: Basis = "assumed"


_PROBE = "the probe's USB frames of 1 ms, there and back, are assumed"
LINKS: Mapping[str, HostLink] = {
    link.name: link
    for link in (
        HostLink("jtag", 4e6 / 42 * 4, 2e-3, f"4 MHz, 35 bits and 7 TAP states a word (ADIv5.2); {_PROBE}"),
        HostLink("swd", 4e6 / 46 * 4, 2e-3, f"4 MHz, 46 clocks a word (ADIv5.2); {_PROBE}"),
        HostLink("uart", 115_200 / 10, 1e-3, "115,200 Bd, 10 bits a byte; 1 ms an answer is assumed"),
        HostLink("usb", 19 * 64 * 1000, 2e-3, "full speed: 19 packets of 64 B a frame of 1 ms (USB 2.0, 5.8.4)"),
    )
}


@dataclass
class SessionTraffic:
    """``bytes`` in both directions, ``round_trips``, and ``starts`` of the core."""

    bytes: int = 0
    round_trips: int = 0
    starts: int = 0

    def moved(self, size: int) -> None:
        """``size`` bytes went over, and an answer came."""
        self.bytes += size
        self.round_trips += 1

    def called(self, words: list[int]) -> None:
        """Calls with so many words each went over together, ran, and gave their results."""
        self.moved(sum(RECORD + WORD * count for count in words))
        self.moved(0)
        self.moved(RESULT * len(words))
        self.starts += 1

    def seconds(self, link: str) -> float:
        """What it would have taken over a link of :data:`LINKS`. Raises UsageError for another."""
        if link not in LINKS:
            raise UsageError(f"no link {quoted(link)}; there are {', '.join(LINKS)}")
        way = LINKS[link]
        return self.bytes / way.bytes_per_second + self.round_trips * way.round_trip
