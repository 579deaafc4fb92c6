"""Follows the transfers of a watched firmware: who started them, what the program knows of their ends, their errors.

Not modelled: what a program knows by other means than the streams' registers and interrupts and what a peripheral says
of its end (a delay, a pin).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from weakref import proxy

from mcusim.cpu.hooks import race_detector
from mcusim.cpu.system.exception_layout import FIRST_LINE
from mcusim.emulator.emulator import Emulator
from mcusim.memory.race_detector import layout as W
from mcusim.memory.race_detector.dma_races import unit_read, unit_written
from mcusim.soc.dma.dma_log import Event, LoggedTransfer
from mcusim.soc.register_block import RegisterBlock
from mcusim.verification.firmware.firmware_disturbance import FirmwareDisturbance
from mcusim.verification.firmware.firmware_variables import ProgramVariables
from mcusim.verification.firmware.layout_rules import fixed
from mcusim.verification.firmware.memory_shadow import Shadow
from mcusim.verification.firmware.set_up_rules import clock_missing

_STREAM = re.compile(r"_(?:[SC](\d+)(?:CR|NDTR)|C(?:CR|NDTR)(\d+))$")
_STATUS = re.compile(r"_C(\d+)ISR$")  # a channel of the MDMA has its own


@dataclass(slots=True)
class Clash:
    """``later`` was started while the program did not know of the end of ``earlier``: bytes ``low`` to below ``high``
    are both the one's ``use`` and the other's ``before``."""

    earlier: LoggedTransfer
    later: LoggedTransfer
    use: str
    before: str
    low: int
    high: int
    times: int = 1


@dataclass(slots=True)
class Failure:
    """A transfer that ended by an error; ``looked``: the program read the flags after that."""

    transfer: LoggedTransfer
    looked: bool = False
    times: int = 1


@dataclass
class Watcher:
    """Watches the transfers of ``emulator`` from now on."""

    emulator: Emulator
    shadow: Shadow
    variables: ProgramVariables
    disturbance: FirmwareDisturbance | None = None
    clashes: dict[tuple[int, int, str, str], Clash] = field(default_factory=dict)
    failures: dict[tuple[int, tuple[str, ...]], Failure] = field(default_factory=dict)
    by_code: dict[int, LoggedTransfer] = field(default_factory=dict)
    by_handler: set[int] = field(default_factory=set)  # numbers of those that a handler started
    callers: dict[int, tuple[int, ...]] = field(default_factory=dict)  # of who started it, by a transfer's place
    stopped: dict[int, int] = field(default_factory=dict)  # the instruction that cleared EN, or one behind it
    apart: dict[int, tuple[LoggedTransfer, int, int]] = field(
        default_factory=dict
    )  # by instruction: bytes apart, times
    targets: dict[tuple[int, int, int], LoggedTransfer] = field(default_factory=dict)
    fixed: dict[int, LoggedTransfer] = field(default_factory=dict)  # by instruction, where it does not increment
    unclocked: dict[int, tuple[LoggedTransfer, str]] = field(default_factory=dict)  # by instruction

    def __post_init__(self) -> None:
        self._watch = self.shadow.watch
        self._next = 1
        self._begun: tuple[int, int] | None = None  # number and target of what the memory system has just been given
        self._last: dict[tuple[str, int], LoggedTransfer] = {}
        self._open: dict[int, LoggedTransfer] = {}  # by slot
        self._codes: dict[int, int] = {}  # of those that run, by their place in the log
        self._unseen: list[Failure] = []
        self._touched: set[tuple[int, int]] = set()
        self.count = 0  # transfers that were started
        own = proxy(self)
        self.emulator.dma.log.watch(partial(Watcher.happened, own))
        self.emulator.memory.on_transfer = partial(Watcher.given, own)
        self.emulator.memory.on_unit = partial(Watcher.unit, own)
        self.emulator.peripherals.on_load = partial(Watcher.loaded, own)
        self.emulator.peripherals.on_store = partial(Watcher.stored, own)
        self._of_line: dict[int, list[RegisterBlock]] = {}  # the blocks that may request it
        for block in self.emulator.peripherals.blocks:
            for irq in block.lines:
                self._of_line.setdefault(irq, []).append(block)
        for block in self.emulator.peripherals.blocks:
            self.stored(block)

    def given(self, source: int, target: int, size: int) -> tuple[int, int, int]:
        """The memory system is about to be given a transfer: its number, and how it is disturbed."""
        later, slower = (0, 0) if self.disturbance is None else self.disturbance.transfer()
        return self.begins(source, target, size), later, slower

    def touched(self) -> list[tuple[int, int]]:
        """The memory that transfers read or wrote, and that can be written, by address; what overlaps is joined."""
        writable = [
            (b, b + r.size) for r in self.emulator.machine.memory.values() if r.writable for b in (r.base, *r.aliases)
        ]
        touched: list[tuple[int, int]] = []
        for low, high in sorted(self._touched):
            if not any(a <= low and high <= b for a, b in writable):
                continue
            if touched and low <= touched[-1][1]:
                touched[-1] = touched[-1][0], max(touched[-1][1], high)
            else:
                touched.append((low, high))
        return touched

    def begins(self, source: int, target: int, size: int) -> int:
        """A transfer begins; returns its number."""
        code = self._next
        while code in self.by_code and any(report.code == code for report in self.shadow.reports):
            code = code % (W.MOST_CODES - 1) + 1
        self._next = code % (W.MOST_CODES - 1) + 1
        watch, log = self._watch, self.emulator.dma.log
        owner = next(
            (transfer for transfer in reversed(log.running) if any(a <= target < b for a, b in transfer.writes)), None
        )
        if owner is not None:  # a further part of it, or else its own record follows
            self.by_code[code] = owner
        watch.sites[code] = self.emulator.peripherals.pc if owner is None else owner.pc
        watch.sources[code], watch.source_ends[code] = source, source + size
        watch.target_lows[code], watch.target_ends[code] = target, target + size
        watch.started = 1
        self._begun = code, target
        return code

    def unit(self, address: int, size: int, write: bool) -> None:
        """A unit of a transfer with a peripheral has moved."""
        for transfer in reversed(self.emulator.dma.log.running):
            place = next(((a, b) for a, b in (transfer.writes if write else transfer.reads) if a <= address < b), None)
            code = self._codes.get(transfer.number)
            if place is not None and code is not None and self.by_code.get(code) is transfer:
                watch = self._watch
                if write:  # of two buffers the one that is filled
                    watch.target_lows[code], watch.target_ends[code] = place
                else:
                    watch.sources[code], watch.source_ends[code] = place
                self._turn()
                (unit_written if write else unit_read)(self.emulator.memory.state, code, address, size)
                return

    def happened(self, event: Event, transfer: LoggedTransfer) -> None:
        """An event of the log."""
        self._turn()
        if event == "start":
            self._started(transfer)
        elif event == "half":
            self._there(transfer, transfer.units // 2 * transfer.unit)
        elif event == "complete":
            self._there(transfer, transfer.size)
        else:
            self._there(transfer, transfer.size)
            if event == "error":
                self._failed(transfer)
            else:
                self._stopped(transfer)
        if transfer.outcome != "running":
            self._codes.pop(transfer.number, None)

    def _stopped(self, transfer: LoggedTransfer) -> None:
        """The program has cleared its EN."""
        self.stopped[transfer.number] = self.emulator.peripherals.pc
        self._told(lambda item: item is transfer, transfer.size)
        low = transfer.writes[0][0]
        for i in range(self._watch.target_count):
            target = self._watch.targets[i]
            if target.low == low and self.by_code.get(target.code) is transfer:
                target.end = low + transfer.moved

    def _turn(self) -> None:
        race_detector.turn(self.emulator.state, self.emulator.memory.state)

    def _started(self, transfer: LoggedTransfer) -> None:
        begun, self._begun = self._begun, None
        if begun is None or begun[1] != transfer.target:
            source, target = transfer.reads[0], transfer.writes[0]
            code = self.begins(source[0], target[0], max(source[1] - source[0], target[1] - target[0]))
            self._begun = None
        else:
            code = begun[0]
        self.by_code[code] = transfer
        self._codes[transfer.number] = code
        self._watch.sites[code] = transfer.pc
        self.count += 1
        self._touched |= {_reads(transfer), _writes(transfer)}
        (self.by_handler.add if self._watch.exception else self.by_handler.discard)(code)
        self.callers[transfer.number] = self.calls()
        self._purge()
        self._clash(transfer)
        self._set_up(transfer)
        self._goes_on(transfer)
        self._remember_target(transfer, code)
        if not transfer.circular:
            self._enter(transfer, code)

    def _set_up(self, transfer: LoggedTransfer) -> None:
        """What is wrong with its registers, or its controller's."""
        missing = clock_missing(self.emulator, transfer.controller)
        if missing is not None:
            self.unclocked.setdefault(transfer.pc, (transfer, missing))
        if next(fixed(transfer, self.variables), None) is not None:
            self.fixed.setdefault(transfer.pc, transfer)

    @property
    def unknown(self) -> list[LoggedTransfer]:
        """Transfers of whose end the program does not know."""
        return [transfer for slot, transfer in self._open.items() if self._knows(slot) < transfer.size]

    def calls(self) -> tuple[int, ...]:
        """Where the calls under way go back to, the last one first; a handler's own only."""
        state = self.emulator.state
        depth, last = state.call_depth, state.call_base
        calls = (state.calls[n] for n in range(depth - 1, max(last, depth - W.CALLERS) - 1, -1))
        return tuple(call.return_address for call in calls)

    def _goes_on(self, transfer: LoggedTransfer) -> None:
        """A stream goes on where its last transfer ended, in its target but not quite in its source."""
        key = transfer.controller, transfer.stream
        last, self._last[key] = self._last.get(key), transfer
        if last is None or last.pc != transfer.pc or "peripheral" in transfer.direction:
            return
        apart = transfer.source - last.reads[0][1]
        if last.writes[0][1] == transfer.target and 0 < abs(apart) <= transfer.unit:
            old = self.apart.get(transfer.pc)
            self.apart[transfer.pc] = (transfer, apart, 1) if old is None else (*old[:2], old[2] + 1)

    def _enter(self, transfer: LoggedTransfer, code: int) -> None:
        """The program has to learn of its end."""
        slot = next((i for i in range(W.MOST_OPEN) if i not in self._open), None)
        if slot is None:
            slot = min(self._open, key=lambda i: self._open[i].number)
        self._open[slot] = transfer
        record = self._watch.open_transfers[slot]
        source = (0, 0) if transfer.direction == "peripheral to memory" else transfer.reads[0]
        target = (0, 0) if transfer.direction == "memory to peripheral" else transfer.writes[0]
        record.source, record.source_end = source
        record.target, record.target_end = target
        record.begin = self.emulator.memory.state.now
        record.arrived = record.known = record.turn = 0
        record.exception = transfer.irq + FIRST_LINE if transfer.irq >= 0 else 0
        self._watch.of_dma[record.exception] = record.exception > 0
        record.code = code
        self._watch.open_count = max(self._open) + 1

    def _remember_target(self, transfer: LoggedTransfer, code: int) -> None:
        if transfer.direction == "memory to peripheral":
            return
        watch, (low, end) = self._watch, transfer.writes[0]
        self.targets.setdefault((transfer.pc, low, end), transfer)
        used = watch.target_count
        index = next((i for i in range(used) if watch.targets[i].low == low), code % W.MOST_TARGETS)
        if index >= used:
            index, watch.target_count = used, used + 1
        variable, target = self.variables.at(low), watch.targets[index]
        target.low, target.end, target.code = low, end, code
        target.limit = 0 if variable is None else variable.end

    def _there(self, transfer: LoggedTransfer, size: int) -> None:
        for slot, logged_transfer in self._open.items():
            if logged_transfer is transfer:
                record = self._watch.open_transfers[slot]
                record.arrived = max(record.arrived, size)

    def stored(self, block: RegisterBlock) -> None:
        """The program has stored to a register of ``block``: which of its lines can be requested."""
        off_since = self._watch.off_since
        for irq in block.lines:
            index = irq + FIRST_LINE
            if any(block.line_enabled(irq) for block in self._of_line[irq]):
                off_since[index] = min(0, off_since[index])
            elif off_since[index] == 0:
                off_since[index] = max(1, self.emulator.memory.state.now)

    def loaded(self, address: int, value: int) -> None:
        """The program has loaded ``value`` from a register."""
        if not self._open and not self._unseen:
            return
        block = self.emulator.peripherals.block_at(address)
        if block is None:
            return
        if not any(block is controller for controller in self.emulator.dma):
            if block.has_sent(block.name_at(address - block.base), value):
                self._turn()
                self._told(partial(_has_sent, block), None)
            return
        self._turn()
        label = block.label(address - block.base)
        for failure in self._unseen:
            failure.looked |= failure.transfer.controller == block.name and label.endswith("SR")
        stream = _STREAM.search(label)
        if stream is not None:
            number = int(stream[1] or stream[2])
            counts = "NDTR" in label
            for slot, transfer in list(self._open.items()):
                if transfer.controller == block.name and transfer.stream == number:
                    there = self._watch.open_transfers[slot].arrived
                    size = (transfer.units - value) * transfer.unit if counts else there
                    self._tell(slot, transfer, max(there, size) if counts else there)
        elif label.endswith("SR"):
            half = {"L": range(4), "H": range(4, 8)}.get(label.rpartition("_")[2][0])
            if (channel := _STATUS.search(label)) is not None:
                half = range(int(channel[1]), int(channel[1]) + 1)
            self._told(lambda item: self._shows(item, block.name, half), None)

    def _shows(self, transfer: LoggedTransfer, controller: str, half: range | None) -> bool:
        """Whether the flags say of a transfer how far it is: not while those of an earlier one are still set."""
        if transfer.controller != controller or (half is not None and transfer.stream not in half):
            return False
        block = next(block for block in self.emulator.dma if block.name == controller)
        lane = next(stream for stream in block.streams if stream.number == transfer.stream)
        complete = lane.names.get("CTCIF", lane.names.get("TCIF", 0))
        return not lane.stale & complete

    def _told(self, which: object, size: int | None) -> None:
        for slot, transfer in list(self._open.items()):
            if which(transfer):  # type: ignore[operator]
                there = self._watch.open_transfers[slot].arrived
                self._tell(slot, transfer, there if size is None else size)

    def _tell(self, slot: int, transfer: LoggedTransfer, size: int) -> None:
        """The code that runs learns that so many bytes are there."""
        record = self._watch.open_transfers[slot]
        if size < record.known or size == 0:
            return
        thread = self._watch.exception == 0
        if size > record.known or thread:
            record.known, record.turn = size, 0 if thread else self._watch.turn
        if thread and size >= transfer.size:
            self._close(slot)

    def _close(self, slot: int) -> None:
        del self._open[slot]
        self._watch.open_transfers[slot].code = 0
        self._watch.open_count = max(self._open, default=-1) + 1

    def _knows(self, slot: int) -> int:
        """Bytes of an open transfer that the code which runs knows to be there."""
        record = self._watch.open_transfers[slot]
        return 0 if self._watch.exception == 0 and record.turn > self._watch.known_turn else record.known

    def _purge(self) -> None:
        """Forget transfers of whose end everybody knows."""
        for slot, transfer in list(self._open.items()):
            record = self._watch.open_transfers[slot]
            if record.known >= transfer.size and record.turn <= self._watch.known_turn:
                self._close(slot)

    def _clash(self, later: LoggedTransfer) -> None:
        """The transfers whose bytes the new one uses too."""
        for slot, earlier in self._open.items():
            if self._knows(slot) >= earlier.size:
                continue
            for use, mine in (("source", _reads(later)), ("target", _writes(later))):
                for before, theirs in (("source", _reads(earlier)), ("target", _writes(earlier))):
                    low, high = max(mine[0], theirs[0]), min(mine[1], theirs[1])
                    if low < high and "target" in (use, before):
                        key = earlier.pc, later.pc, use, before
                        if key in self.clashes:
                            self.clashes[key].times += 1
                        else:
                            self.clashes[key] = Clash(earlier, later, use, before, low, high)

    def _failed(self, transfer: LoggedTransfer) -> None:
        key = transfer.pc, transfer.flags
        if key in self.failures:
            self.failures[key].times += 1
        else:
            self.failures[key] = Failure(transfer)
            self._unseen.append(self.failures[key])


def _has_sent(block: RegisterBlock, transfer: LoggedTransfer) -> bool:
    """Whether all bytes of the transfer are in what ``block`` has sent."""
    ours = transfer.direction == "memory to peripheral" and block.base <= transfer.target < block.base + block.size
    return ours and transfer.outcome == "complete"


def _reads(transfer: LoggedTransfer) -> tuple[int, int]:
    return (0, 0) if transfer.direction == "peripheral to memory" else transfer.reads[0]


def _writes(transfer: LoggedTransfer) -> tuple[int, int]:
    return (0, 0) if transfer.direction == "memory to peripheral" else transfer.writes[0]
