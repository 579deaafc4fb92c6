"""A whole DMA transfer that nobody disturbs: its two ports alone, access by access.

The same accesses as :mod:`mcusim.memory.dma.arbitration` makes of a transfer in flight, which takes as long when nobody
else is on its memories; lines that take the same are made at once (:mod:`mcusim.memory.dma.rounds`). Not modelled: what
:mod:`mcusim.memory.dma.beats` does not model.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.dma import beats, rounds
from mcusim.native.compile import State, native, shared


@shared
def transfer(s: State) -> int:
    """Ticks of the transfer in ``ALONE``, which begins at ``s[NOW]``; moves the clock to its end.

    It ends early where there is no memory. Its accesses are counted as the core's are.
    """
    return play(s, 1)


@shared
def transfer_by_beats(s: State) -> int:
    """:func:`transfer` with every access made, however many are the same."""
    return play(s, 0)


@native
def play(s: State, at_once: int) -> int:
    """The accesses; lines that are the same at once or not."""
    f = L.ALONE
    begin = end = reading = writing = s[L.NOW]
    s[f + L.D_BEGIN] = begin
    rounds.begin(s)
    while s[f + L.D_LEFT]:
        read_at = max(beats.next_read(s, f), reading) + s[f + L.D_BEFORE_READ]
        write_at = max(beats.next_write(s, f), writing) + s[f + L.D_BEFORE_WRITE]
        if read_at <= write_at:
            s[L.NOW] = read_at
            r = beats.source_of(s, f)
            if r < 0:
                break
            size = beats.read(s, f, r)
            reading = s[f + L.D_READ_END]
            s[r + L.READS] += 1
            s[r + L.READ_BYTES] += size
        else:
            s[L.NOW] = write_at
            r = beats.target_of(s, f)
            if r < 0:
                break
            size = beats.write(s, f, r)
            end = writing = s[f + L.D_WRITE_END]
            s[r + L.WRITES] += beats.beats_to(s, f, size)
            s[r + L.WRITE_BYTES] += size
            beats.moved(s, f, size)
            if at_once and s[L.FILM] == 0 and s[f + L.D_LEFT] % rounds.BYTES == 0:
                later = rounds.made_at_once(s, f, writing, reading)
                reading, writing, end = reading + later, writing + later, end + later
    s[L.NOW] = end
    return end - begin
