"""Rule wrong-data: every operand of a kernel call must have the data that its operator and tile need.

The data of a copied operand are followed back to the addresses that its transfers read; there the header's buffers say
which tensor, array and rows that is. Not modelled: which tensors an operator reads (a program does not say), beyond
that all its tiles read the same ones and that no weights are left over; values, and rows of batches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from mcusim.model.geometry import whole
from mcusim.model.operators import may_have_tables
from mcusim.program.program import Buffer, Compute, Operand, Program, Span, Task, Transfer
from mcusim.verification.findings import Findings
from mcusim.verification.proof.last_writer import HOST, NOBODY, ByteHistory, LastWriter
from mcusim.verification.proof.task_accesses import TILED, called
from mcusim.verification.proof.tensor_homes import TensorHomes

KINDS: Mapping[str, str] = {"input0": "input", "filter": "filter", "bias": "bias", "input1": "input1"} | {
    name: name for name in ("multiplier", "shift")
}  # role -> kind of the transfer that copies it in
NAMED = 6  # transfers that one finding names
LARGEST_TABLE = 128  # bytes: two 64-bit numbers for each of eight dimensions
Runs = Sequence[tuple[int, int, ByteHistory]]


class Contents:
    """Checks what the tasks of ``program`` find in ``flow`` just before they do their own accesses."""

    def __init__(self, program: Program, last_writer: LastWriter, findings: Findings) -> None:
        self._tasks, self._last_writer, self._findings = program.tasks, last_writer, findings
        self._homes = TensorHomes(program)
        self._meant: dict[tuple[int, str, int], list[int]] = defaultdict(list)
        self._sources = {t.source for t in program.tasks if isinstance(t, Transfer) and t.kind == "output"}
        self._tables = any(may_have_tables(info.type) for info in program.header.operators)
        self._tensors: dict[tuple[int, str], str] = {}
        self._users: dict[str, dict[int, tuple[int, ...]]] = defaultdict(dict)  # weights -> operators -> places
        for index, task in enumerate(program.tasks):
            if isinstance(task, Transfer):
                self._meant[task.operator, task.kind, task.tile if task.kind in TILED else 0].append(index)

    def step(self, place: int) -> None:
        """Check the task at ``place``."""
        task = self._tasks[place]
        if isinstance(task, Transfer):
            self._fresh(place, task.operator, self._last_writer.histories(task.source), task.source.address, ())
        elif isinstance(task, Compute):
            counts: dict[str, int] = defaultdict(int)
            for operand in task.operands:
                counts[operand.role] += 1
                if operand.span.bytes < 1 or operand.access == "rw":
                    continue
                key = f"{operand.role}{counts[operand.role]}"
                if operand.access == "r":
                    self._read(place, task, operand, key)
                else:
                    self._at_home(place, task, operand, operand.span.address, key, ())

    def finish(self) -> None:
        """Weights that two operators read while others of the same size are read by none: one has the wrong address.

        A table of shapes, axes or paddings is a constant of the model that no kernel need read: what may be one counts
        only where no operator of the program has any.
        """
        sizes: dict[int, str] = {}
        for buffer in self._homes.weights():
            if buffer.name not in self._users and (buffer.span.bytes > LARGEST_TABLE or not self._tables):
                sizes.setdefault(buffer.span.bytes, buffer.name)
        for name, users in self._users.items():
            home = self._homes.named(name)
            if home is None or len(users) < 2 or home.span.bytes not in sizes:
                continue
            operators = ", ".join(str(operator) for operator in sorted(users))
            text = f"operators {operators} read {name}, and none reads {sizes[home.span.bytes]} of the same size"
            fix = f"correct the address from which one of them has its weights to that of {sizes[home.span.bytes]}"
            places = tuple(dict.fromkeys(index for indices in users.values() for index in indices))
            self._findings.add("wrong-data", places, home.span.address, home.span.end, text, fix)

    def _read(self, place: int, task: Compute, operand: Operand, key: str) -> None:
        runs = self._last_writer.histories(operand.span)
        tile = task.tile if KINDS.get(operand.role) in TILED else 0
        meant = self._meant.get((task.operator, KINDS.get(operand.role, ""), tile), [])
        near = [p for p in meant if p < place][:NAMED]
        if self._holes(place, task, operand, runs, near):
            return
        copied = [(low, history) for low, _, history in runs if self._brought(history)]
        if not copied:
            self._fresh(place, task.operator, runs, operand.span.address, near)
            self._at_home(place, task, operand, operand.span.address, key, near)
        elif self._right_transfers(place, task, operand, runs, near):
            base = operand.span.address + (copied[0][1].origin or 0)
            copied_by = tuple(dict.fromkeys(history.writer for _, history in copied))[:NAMED]
            self._at_home(place, task, operand, base, key, copied_by)

    def _brought(self, history: ByteHistory) -> bool:
        """Did a transfer into a buffer write these bytes?"""
        writer = self._tasks[history.writer] if history.writer >= 0 else None
        return isinstance(writer, Transfer) and writer.kind != "output"

    def _holes(self, place: int, task: Compute, operand: Operand, runs: Runs, near: Sequence[int]) -> bool:
        holes = [(low, high) for low, high, history in runs if history.writer == NOBODY]
        for low, high in holes:
            text = f"{called(task)} reads {high - low:,} B of its {operand.role} at {low:#010x} that were never written"
            fix = "let a transfer fill all of the operand" if near else "put the operand where its tensor is"
            self._findings.add("unwritten", (*near, place), low, high, text, fix)
        return bool(holes)

    def _right_transfers(self, place: int, task: Compute, operand: Operand, runs: Runs, near: Sequence[int]) -> bool:
        """All of a copied operand comes from its own transfers and from one run of bytes."""
        kind, origins = KINDS.get(operand.role), {history.origin for _, _, history in runs}
        right = True
        for low, high, history in runs:
            writer = self._tasks[history.writer] if history.writer >= 0 else None
            if not isinstance(writer, Transfer):
                what = f"written by {called(writer)}" if writer is not None else "there before the program started"
            elif (writer.operator, writer.kind) == (task.operator, kind) and (
                writer.tile == task.tile or kind not in TILED
            ):
                continue
            else:
                what = f"copied in by {called(writer)}"
            right = False
            self._wrong(place, task, operand, low, high, what, [*near, history.writer])
        if right and len(origins) > 1:
            writers = [history.writer for _, _, history in runs][:NAMED]
            what = "from places that are not contiguous"
            self._wrong(place, task, operand, operand.span.address, operand.span.end, what, writers)
        return right and len(origins) == 1

    def _wrong(
        self, place: int, task: Compute, operand: Operand, low: int, high: int, what: str, named: Sequence[int]
    ) -> None:
        first = tuple(dict.fromkeys(p for p in named if p != place))
        text = f"{called(task)} finds bytes in its {operand.role} that are {what}"
        ids = ", ".join(str(self._tasks[p].id) for p in first if p >= 0)
        fix = f"let its own transfer fill the operand, and nothing else (see tasks {ids})"
        self._findings.add("wrong-data", (*first, place), low, high, text, fix)

    def _fresh(self, place: int, operator: int, runs: Runs, address: int, near: Sequence[int]) -> None:
        """Bytes of an activation are those of the operator that computes it, not older ones of the same memory."""
        homes = [home for home in self._homes.all_at(address, operator) if home.kind == "activation"]
        if not homes:
            return
        home, producers = homes[0], [self._homes.producer(home) for home in homes]
        for low, high, history in runs:
            if history.writer in (HOST, NOBODY) or low >= home.span.end or high <= home.span.address:
                continue
            writer = self._tasks[history.writer]
            if writer.operator not in producers and not self._brought(history) and not _keeps(writer):
                text = (
                    f"{called(self._tasks[place])} reads {home.name} where {called(writer)} wrote last;"
                    f" operator {producers[0]} computes it"
                )
                fix = f"let operator {producers[0]} compute these bytes before, or correct the address"
                self._findings.add("unwritten", (history.writer, *near, place), low, high, text, fix)

    def _at_home(
        self, place: int, task: Compute, operand: Operand, base: int, key: str, copied_by: tuple[int, ...] | list[int]
    ) -> None:
        """The data begin where the header has their tensor (its rows) or array."""
        if not self._homes:
            return
        reason = self._misplaced(task, operand, base, key, bool(copied_by))
        home = self._homes.at(base, task.operator)
        if home is not None and home.kind == "weights":
            self._users[home.name].setdefault(task.operator, (*copied_by, place))
        if reason:
            span = operand.span
            text = f"{called(task)}: its {operand.role} is the data at {base:#010x}, {reason}"
            fix = "correct the address or the size of " + ("the transfer's source" if copied_by else "the operand")
            self._findings.add("wrong-data", (*copied_by, place), span.address, span.end, text, fix)

    def _misplaced(self, task: Compute, operand: Operand, base: int, key: str, copied: bool) -> str:
        if operand.role in ("multiplier", "shift"):
            named = self._homes.named(f"{operand.role}{task.operator}")
            right = named is None or (named.span.address == base and operand.span.bytes <= named.span.bytes)
            return "" if right or named is None else f"where {named.name} is at {named.span.address:#010x}"
        home = self._homes.at(base, task.operator, operand.access == "w")
        if home is None:
            if operand.access == "w" and self._elsewhere(operand.span):
                return ""
            return "where the header has no tensor alive at that operator"
        expected = self._tensors.setdefault((task.operator, key), home.name)
        if expected != home.name:
            return f"in {home.name}; other tiles have {expected}"
        return _offset(task, operand, base - home.span.address, home, copied)

    def _elsewhere(self, span: Span) -> bool:
        """Outputs may go to an overlay buffer, to be copied from there."""
        return any(source.address < span.end and span.address < source.end for source in self._sources)


def _keeps(writer: Task) -> bool:
    """Does a kernel call write the very bytes that it reads? What they were was asked when it read them."""
    if not isinstance(writer, Compute) or not writer.geometry.traits.view:
        return False
    read, written = ({o.span for o in writer.operands if o.access == access} for access in "rw")
    return bool(read & written)


def _offset(task: Compute, operand: Operand, offset: int, home: Buffer, copied: bool) -> str:
    """Why ``offset`` into ``home`` is not where the operand's rows begin; empty when it is."""
    g, rows, size = task.geometry, task.rows, home.span.bytes
    if offset + operand.span.bytes > size:
        return f"{operand.span.bytes:,} B from byte {offset:,} of {home.name}, which has {size:,}"
    tiled = rows != whole(g)
    if operand.role in ("filter", "bias", "table") and operand.span.bytes != size:
        return f"{operand.span.bytes:,} B of {home.name}, which has {size:,}"
    if operand.role in ("input0", "input1") and tiled and (copied or operand.span.bytes < size):
        height, row = g.in_h, rows.in_row
    elif operand.role == "output" and tiled:
        height, row = g.out_h, rows.out_row
    else:
        height, row = 1, 0
    at = size // height * row
    return "" if offset == at else f"byte {offset:,} of {home.name}, where its rows begin at byte {at:,}"
