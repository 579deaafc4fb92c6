"""From what was written down during a firmware's run to findings: the rule, the places, the fix.

Not modelled: what one mistake causes behind another; each report is explained by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mcusim.cpu.decode.constant_stores import stores_constant
from mcusim.emulator.emulator import Emulator
from mcusim.emulator.stops.stop import Stop
from mcusim.finding_rules import MISTAKES
from mcusim.image.image import Image
from mcusim.memory import state_layout as L
from mcusim.memory.race_detector import layout as W
from mcusim.soc.dma.dma_log import LoggedTransfer
from mcusim.verification.firmware.endings import ending_findings, waits_unheard
from mcusim.verification.firmware.finding import FirmwareFinding, TransferUse
from mcusim.verification.firmware.firmware_variables import ProgramVariables
from mcusim.verification.firmware.layout_rules import beyond, fixed, shared
from mcusim.verification.firmware.memory_shadow import Report, Shadow
from mcusim.verification.firmware.source_locations import SourcePlaces
from mcusim.verification.firmware.watcher import Clash, Failure, Watcher

_EXCLUSIVE = (0xE850, 0xE8D0, 0xE840, 0xE8C0)  # LDREX; LDREXB and LDREXH; STREX; STREXB and STREXH


@dataclass(frozen=True, slots=True)
class _Reading:
    rule: str
    text: str
    fix: str
    of_core: bool = True  # the report's instruction broke the rule, not the transfer
    other: int = 0


class FirmwareDiagnosis:
    """Explains what ``shadow`` and ``watcher`` have of a run of ``image`` on ``emulator``."""

    def __init__(
        self, emulator: Emulator, image: Image, shadow: Shadow, watcher: Watcher, variables: ProgramVariables
    ) -> None:
        self._emulator, self._image, self._shadow = emulator, image, shadow
        self._watcher, self._variables = watcher, variables
        self.places = SourcePlaces(emulator, image, variables)
        self._explain = {
            W.STALE: self._stale, W.MAYBE_STALE: self._maybe_stale, W.UNCLEANED: self._uncleaned,
            W.MAYBE_UNCLEANED: self._uncleaned, W.DIRTY: self._dirty, W.MAYBE_DIRTY: self._dirty,
            W.EARLY: self._early, W.SOURCE_WRITTEN: self._source_written, W.TARGET_WRITTEN: self._target_written,
            W.SHORT: self._short, W.RACE: self._race, W.MAYBE_RACE: self._maybe_race,
        }  # fmt: skip

    def findings(self, stop: Stop) -> list[FirmwareFinding]:
        """Every finding of a run that came to ``stop`` once: of one rule, function and line that started a transfer the
        first, with the sum of all; in order of time, where what is wrong with a transfer is so from its start on."""
        findings: dict[tuple[object, ...], FirmwareFinding] = {}
        certain: dict[tuple[object, ...], int] = {}  # times that the bytes were wrong, and not perhaps
        for finding, sure in (*self._all(), *((firmware_finding, True) for firmware_finding in self._of_end(stop))):
            started = (
                None if finding.transfer is None else finding.transfer.started.source or finding.transfer.started.pc
            )
            key = finding.rule, finding.where, started, finding.variable if finding.rule in _BY_VARIABLE else None
            certain[key] = certain.get(key, 0) + finding.times * sure
            old = findings.get(key)
            if old is None:
                findings[key] = finding
            else:
                low, high, cycle = min(old.low, finding.low), max(old.high, finding.high), min(old.cycle, finding.cycle)
                findings[key] = replace(old, times=old.times + finding.times, low=low, high=high, cycle=cycle)
        shown = [_of_all(firmware_finding, certain[key]) for key, firmware_finding in findings.items()]
        return sorted(_without_consequences(shown), key=lambda firmware_finding: firmware_finding.cycle)

    def _all(self) -> Iterator[tuple[FirmwareFinding, bool]]:
        """The findings, and whether the bytes of each were wrong in this run; of reports those that were come first,
        so that their text stands for all."""
        for report in sorted(self._shadow.reports, key=lambda report: report.kind in _PERHAPS):
            cause = self._explain[report.kind](report)
            if cause is not None:
                yield self._finding(report, cause), report.kind not in _PERHAPS
        yield from ((finding, True) for finding in self._of_transfers())

    def _of_transfers(self) -> Iterator[FirmwareFinding]:
        yield from map(self._clash, self._watcher.clashes.values())
        yield from map(self._failure, self._watcher.failures.values())
        yield from (self._apart(*entry) for entry in self._watcher.apart.values())
        for transfer in self._watcher.targets.values():
            if transfer.outcome == "error":  # a finding by itself, and perhaps nothing moved
                continue
            for past in beyond(transfer, self._variables):
                yield self._layout("beyond-variable", transfer, *past)
        yield from self._of_set_up()
        yield from self._of_registers()
        for edge in shared(self._emulator, self._shadow, self._watcher.targets.values(), self._variables):
            yield self._shared(*edge)

    def _of_set_up(self) -> Iterator[FirmwareFinding]:
        """What is wrong with how transfers were started, whatever their bytes were."""
        for transfer in self._watcher.fixed.values():
            for text, low, high in fixed(transfer, self._variables):
                yield self._of_transfer("not-incremented", transfer, text, _INCREMENT, low, high)
        for transfer, bit in self._watcher.unclocked.values():
            name = transfer.controller
            text = f"was started while {name} has no clock ({bit} is 0): a board ignores stores to its registers"
            fix = f"set {bit} before {name} is used, and read it back"
            yield self._of_transfer(
                "not-clocked", transfer, text, fix, transfer.source, transfer.source + transfer.size
            )

    def _of_registers(self) -> Iterator[FirmwareFinding]:
        """Mistakes with registers that ``mcusim emulate`` finds too."""
        for finding in self._emulator.peripherals.findings():
            if finding.rule in MISTAKES:
                place = None if finding.pc is None else self.places.at(finding.pc)
                text = finding.text if place is None else f"{place.text()}: {finding.text}"
                low = finding.address or 0
                yield FirmwareFinding(finding.rule, text, finding.fix, place, low, low, None, finding.count, 0)

    def _of_end(self, stop: Stop) -> Iterator[FirmwareFinding]:
        yield from ending_findings(self._emulator, self._shadow, self.places, stop)
        for transfer, text, fix in waits_unheard(self._emulator, self.places, stop, self._watcher.unknown):
            low, high = transfer.target, transfer.target + transfer.size
            name = self._variables.name(low)
            started = self._use(transfer)
            yield FirmwareFinding("not-enabled", text, fix, None, low, high, name, 1, transfer.begin, started)

    def _finding(self, report: Report, cause: _Reading) -> FirmwareFinding:
        transfer = self._watcher.by_code.get(report.code)
        return FirmwareFinding(
            cause.rule,
            cause.text,
            cause.fix,
            self.places.at(report.pc, report.callers) if cause.of_core else None,
            report.low,
            report.high,
            self._variables.name(report.low),
            report.times,
            report.now // L.TICK,
            None if transfer is None else self._use(transfer),
            self.places.at(cause.other) if cause.other else None,
        )

    # places

    def _at(self, pc: int) -> str:
        return self.places.at(pc).text()

    def _use(self, transfer: LoggedTransfer) -> TransferUse:
        own = transfer.controller, transfer.stream, transfer.source, transfer.target, transfer.size
        started = self.places.at(transfer.pc, self._watcher.callers.get(transfer.number, ()))
        return TransferUse(*own, transfer.registers, started, transfer.begin)

    def _named(self, report: Report) -> str:
        transfer = self._watcher.by_code.get(report.code)
        return "the DMA" if transfer is None else _name(transfer)

    def _what(self, address: int) -> str:
        state = self._emulator.state
        if state.stack_low <= address < state.stack_top and self._variables.name(address) is None:
            return f"the stack at {address:#010x}"
        return self.places.bytes_at(address)

    # rules

    def _stale(self, report: Report) -> _Reading:
        what, at = self._what(report.low), self._at(report.pc)
        if report.wanted & W.BY_CORE:
            store = self._shadow.writer(report.low)
            text = f"{at} read {what} as it was before {self._at(store)} stored to it: the line was invalidated"
            return _Reading("lost-store", text, self._kept(what, report.low), other=store)
        name = self._named(report)
        if report.held:
            text = f"{at} read {what} from a cache line that was filled before {name} wrote to memory"
            return _Reading("missing-invalidate", text, self._invalidate(what))
        store = self._shadow.writer(report.low)
        text = f"{at} read {what}, where a dirty cache line has been written back over the bytes of {name}"
        return _Reading("dirty-target", text, self._before(what), other=store)

    def _maybe_stale(self, report: Report) -> _Reading:
        what = self._what(report.low)
        text = (
            f"{self._at(report.pc)} read {what}, which {self._named(report)} wrote, and no invalidate came between the"
            " two: in this run no older line was in the cache"
        )
        return _Reading("missing-invalidate", text, self._invalidate(what))

    def _invalidate(self, what: str) -> str:
        return f"invalidate the cache lines of {what} after the transfer has ended and before they are read"

    def _kept(self, what: str, address: int) -> str:
        """How the core's bytes there survive an invalidate: not by a clean, where the DMA writes into their line."""
        cache = self._emulator.machine.data_cache
        line = 1 if cache is None else cache.line
        first = address // line * line
        if any(low < first + line and first < end for _, low, end in self._watcher.targets):
            return f"{_APART}: after the transfer a clean of {what} would write the old bytes over the DMA's"
        return f"clean {what} before it is invalidated"

    def _before(self, what: str) -> str:
        return f"clean or invalidate the cache lines of {what} before the transfer is started"

    def _uncleaned(self, report: Report) -> _Reading | None:
        what, name = self._what(report.low), self._named(report)
        store = self._shadow.writer(report.low) or report.other
        by = f" by {self._at(store)}" if store else ""
        if report.kind == W.UNCLEANED and not report.held:
            text = f"{name} read {what}, but what was stored to it{by} had been lost by an invalidate"
            return _Reading("lost-store", text, self._kept(what, report.low), False, store)
        text = f"{name} read {what} from memory, and the bytes stored{by} were still in the data cache"
        if report.kind == W.MAYBE_UNCLEANED:
            text = f"{name} read {what}, stored{by} and not cleaned since: in this run the cache had written it back"
        fix = f"clean the cache lines of {what} after the last store to it and before the transfer is started"
        return _Reading("missing-clean", text, fix, False, store)

    def _dirty(self, report: Report) -> _Reading:
        transfer = self._watcher.by_code.get(report.code)
        what, name = self._what(report.low), self._named(report)
        by = f" by a store of {self._at(report.other)}" if report.other else ""
        if transfer is not None and any(low <= report.low < high for low, high in transfer.writes):
            state = "dirty" if report.kind == W.DIRTY else "not cleaned since it was made dirty"
            text = f"{name} wrote to {what} while its cache line was {state}{by}"
            return _Reading("dirty-target", text, self._before(what), False, report.other)
        text = (
            f"{name} wrote into a cache line that was dirty{by} next to its target, at {what}: writing the line back"
            " destroys the DMA's bytes, invalidating it the core's"
        )
        return _Reading("shared-line", text, _APART, False, report.other)

    def _early(self, report: Report) -> _Reading:
        transfer = self._watcher.by_code.get(report.code)
        what, at, name = self._what(report.low), self._at(report.pc), self._named(report)
        started = "" if transfer is None else f", which {self._at(transfer.pc)} had started,"
        if report.other and report.code in self._watcher.by_handler:
            text = f"{at} was still reading {what} when {name}{started} began to write to it"
            return _Reading("overwritten-in-use", text, f"start the transfer only when {what} is no longer used")
        text = f"{at} read {what}: {name}{started} was not known to have ended"
        return _Reading(
            "read-early", text, "wait for the end of the transfer (its flag or its interrupt) before reading"
        )

    def _source_written(self, report: Report) -> _Reading:
        text = f"{self._at(report.pc)} stored to {self._what(report.low)}, which {self._named(report)} was reading"
        return _Reading("source-overwritten", text, "wait for the transfer's end first, or use a second buffer in turn")

    def _target_written(self, report: Report) -> _Reading:
        text = f"{self._at(report.pc)} stored to {self._what(report.low)}, which {self._named(report)} was writing"
        return _Reading("target-written", text, "wait for the transfer's end first, or use a second buffer in turn")

    def _short(self, report: Report) -> _Reading:
        transfer = self._watcher.by_code.get(report.code)
        size = "" if transfer is None else f" ({transfer.units:,} units of {transfer.unit} B by NDTR)"
        text = (
            f"{self._at(report.pc)} read on at {self._what(report.low)}, past the last byte that {self._named(report)}"
            f" had put there{size}"
        )
        stopped = None if transfer is None else self._watcher.stopped.get(transfer.number)
        if stopped is not None:
            text += f"; {self._at(stopped)} had stopped it"
            return _Reading(
                "never-transferred", text, "wait for the end of the transfer before EN is cleared", other=stopped
            )
        return _Reading("never-transferred", text, "let the number of units (NDTR) be that of the bytes that are used")

    def _maybe_race(self, report: Report) -> _Reading | None:
        """None where the handler stores a constant, which the main program has just loaded: nothing would be lost."""
        stores = self._shadow.constant_stores(report.held)
        if stores and all(stores_constant(self._emulator.core.peek, self._image, pc) for pc in stores):
            return None
        return self._race(report)

    def _race(self, report: Report) -> _Reading | None:
        codes = [self._emulator.core.peek(pc & ~1, 2) or b"\0\0" for pc in (report.other, report.pc)]
        if any(int.from_bytes(code, "little") & 0xFFF0 in _EXCLUSIVE for code in codes):
            return None
        what = self._what(report.low)
        first_at, then_at = self._at(report.other), self._at(report.pc)
        both = f"{then_at} loaded {what} and stored to it"
        if first_at != then_at:
            both = f"{first_at} loaded {what} and {then_at} stored to it"
        text = (
            f"{both}, while {self.places.handler(report.seen)}, which stores to it too, could come in between: its"
            " store would be lost"
        )
        fix = f"mask that interrupt (or all, by PRIMASK) from the load of {what} to the store, or use LDREX and STREX"
        return _Reading("race", text, fix, other=report.other)

    def _clash(self, clash: Clash) -> FirmwareFinding:
        verb = {"source": "reads", "target": "writes"}
        what = self._what(clash.low)
        text = (
            f"{self._at(clash.later.pc)} started {_name(clash.later)}, which {verb[clash.use]} {what}, while"
            f" {_name(clash.earlier)}, started by {self._at(clash.earlier.pc)}, {verb[clash.before]} it: of its end the"
            " program did not know"
        )
        return FirmwareFinding(
            "transfers-overlap", text, f"wait for the end of {_name(clash.earlier)} before this transfer is started",
            self._use(clash.later).started, clash.low, clash.high, self._variables.name(clash.low), clash.times,
            clash.later.begin, self._use(clash.later), self._use(clash.earlier).started,
        )  # fmt: skip

    def _apart(self, transfer: LoggedTransfer, apart: int, times: int) -> FirmwareFinding:
        where = f"{abs(apart)} B {'behind' if apart > 0 else 'before'} where that ended in its source"
        text = (
            f"{_name(transfer)} goes on in {self._what(transfer.target)} behind its last transfer, and begins {where}"
        )
        started = self._use(transfer).started
        low, high = transfer.reads[0]
        return FirmwareFinding(
            "parts-misaligned", text, "advance source and target by the same number of bytes", started, low, high,
            self._variables.name(low), times, transfer.begin, self._use(transfer),
        )  # fmt: skip

    def _failure(self, failure: Failure) -> FirmwareFinding:
        transfer = failure.transfer
        flags = " and ".join(transfer.flags) or "an error"
        text = f"{_name(transfer)} from {self._what(transfer.source)} to {self._what(transfer.target)} ended by {flags}"
        fix = "use a source and a target that this DMA reaches"
        if "FEIF" in transfer.flags:
            fix = "choose a FIFO threshold that holds whole bursts (ST RM0090 table 48)"
        elif location := self._unreached(transfer):
            text += f": it does not reach {location}"
            fix += f", that is memory other than {location}"
        text += "" if failure.looked else "; the program did not look at the stream's flags after that"
        return FirmwareFinding(
            "transfer-error", text, fix, None, transfer.source, transfer.source + transfer.size,
            self._variables.name(transfer.source), failure.times, transfer.begin, self._use(transfer),
        )  # fmt: skip

    def _unreached(self, transfer: LoggedTransfer) -> str:
        """The region of source or target that the DMA does not reach."""
        from mcusim.soc.dma.reach import reached

        machine = self._emulator.machine
        for address, write in ((transfer.source, False), (transfer.target, True)):
            if reached(machine, address, 1, write) == 0:
                for region in machine.memory.values():
                    if any(base <= address < base + region.size for base in (region.base, *region.aliases)):
                        return region.name
                return f"{address:#010x}"
        return ""

    def _layout(self, rule: str, transfer: LoggedTransfer, text: str, low: int, high: int) -> FirmwareFinding:
        fix = "let the number of units (NDTR) be that of the variable's bytes, or make it larger"
        return self._of_transfer(rule, transfer, text, fix, low, high)

    def _of_transfer(
        self, rule: str, transfer: LoggedTransfer, text: str, fix: str, low: int, high: int
    ) -> FirmwareFinding:
        name = self._variables.name(low)
        shown = f"{_name(transfer)} {text}"
        return FirmwareFinding(rule, shown, fix, None, low, high, name, 1, transfer.begin, self._use(transfer))

    def _shared(self, transfer: LoggedTransfer, low: int, high: int, store: int) -> FirmwareFinding:
        what, edge = self._what(low), self._what(transfer.target)
        text = (
            f"{self._at(store)} stores to {what}, in a cache line that {_name(transfer)} writes a part of ({edge}):"
            " writing the line back destroys the DMA's bytes, invalidating it the core's"
        )
        return FirmwareFinding(
            "shared-line", text, _APART, self.places.at(store), low, high, self._variables.name(low), 1, transfer.begin,
            self._use(transfer),
        )  # fmt: skip


_PERHAPS = (W.MAYBE_STALE, W.MAYBE_UNCLEANED, W.MAYBE_DIRTY, W.MAYBE_RACE)
_BY_VARIABLE = ("race", "shared-line")
_INCREMENT = "set the increment, or let source or target be a variable of one unit"
_APART = "begin and end the DMA's buffer on lines of 32 B, so that no line contains bytes of both"


def _name(transfer: LoggedTransfer) -> str:
    return f"{transfer.controller} stream {transfer.stream}"


def _without_consequences(findings: list[FirmwareFinding]) -> Iterator[FirmwareFinding]:
    """Without those that say of a buffer what an early read of it says already: that its bytes were not there, or that
    no invalidate came behind an end that nobody waited for."""
    early = {_accessed(firmware_finding) for firmware_finding in findings if firmware_finding.rule == "read-early"}
    late = {
        _accessed(firmware_finding) for firmware_finding in findings if firmware_finding.rule == "missing-invalidate"
    } & early
    for finding in findings:
        if finding.rule in ("never-transferred", "missing-invalidate") and _accessed(finding) in early:
            continue
        again = finding.rule == "read-early" and _accessed(finding) in late
        yield replace(finding, fix=f"{finding.fix}, and invalidate its cache lines after that") if again else finding


def _of_all(finding: FirmwareFinding, certain: int) -> FirmwareFinding:
    """With how often the text is true, where that is not always."""
    some = 0 < certain < finding.times
    return replace(finding, text=f"{finding.text} ({certain:,} of {finding.times:,} times)") if some else finding


def _accessed(finding: FirmwareFinding) -> tuple[object, ...]:
    return finding.where, finding.variable_name
