"""A whole DMA transfer that nobody disturbs: its two ports alone, access by access.

The same accesses as :mod:`mcusim.memory.dma.arbitration` makes of a transfer in flight, which takes as long when nobody
else is on its memories; lines that take the same are made at once (:mod:`mcusim.memory.dma.rounds`). Not modelled: what
:mod:`mcusim.memory.dma.beats` does not model.
"""

from __future__ import annotations

from mcusim.memory.dma import beats, rounds
from mcusim.memory.state_layout import MemoryState, RegionState
from mcusim.native.functions import native, shared


@shared
def transfer(memory: MemoryState) -> int:
    """Ticks of the transfer in ``ALONE``, which begins at ``s[NOW]``; moves the clock to its end.

    It ends early where there is no memory. Its accesses are counted as the core's are.
    """
    return play(memory, 1)


@shared
def transfer_by_beats(memory: MemoryState) -> int:
    """:func:`transfer` with every access made, however many are the same."""
    return play(memory, 0)


@native
def play(memory: MemoryState, at_once: int) -> int:
    """The accesses; lines that are the same at once or not."""
    transfer = memory.lone_transfer
    begin = end = reading = writing = memory.now
    transfer.begin = begin
    rounds.begin(memory)
    while transfer.unwritten:
        read_at = max(beats.next_read(transfer), reading) + transfer.before_read
        write_at = max(beats.next_write(transfer), writing) + transfer.before_write
        if read_at <= write_at:
            memory.now = read_at
            block = beats.source_of(memory, transfer)
            if block < 0:
                break
            region = RegionState(memory, block)
            size = beats.read(memory, transfer, region)
            reading = transfer.read_end
            region.reads += 1
            region.read_bytes += size
        else:
            memory.now = write_at
            block = beats.target_of(memory, transfer)
            if block < 0:
                break
            region = RegionState(memory, block)
            size = beats.write(memory, transfer, region)
            end = writing = transfer.write_end
            region.writes += beats.beats_to(transfer, size)
            region.write_bytes += size
            beats.moved(transfer, size)
            if at_once and not memory.film and transfer.unwritten % rounds.BYTES == 0:
                later = rounds.made_at_once(memory, transfer, writing, reading)
                reading, writing, end = reading + later, writing + later, end + later
    memory.now = end
    return end - begin
