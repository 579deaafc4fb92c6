"""TensorFlow Lite Micro's offline memory plan, put into a ``.tflite`` file whose own bytes stay as they are.

A flatbuffer's offsets count upwards only, so whatever is new goes in front: a Model table, its vectors of buffers and
of metadata, and the plan. The file's bytes follow unchanged, moved by a multiple of 16 B so that every constant keeps
its alignment; the new tables point into them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flatbuffers
import tflite
from flatbuffers.number_types import SOffsetTFlags

from mcusim.errors import ModelError, UsageError
from mcusim.model.tflite.flatbuffer import File

OFFLINE_PLAN = "OfflineMemoryAllocation"
ALIGNMENT = 16  # of every constant, and of every buffer in TFLM's arena (MicroArenaBufferAlignment)
VERSION = 1
MOST_METADATA = 1000
MOST_BUFFERS = 100_000
MOST_OFFSETS = 100_000
MOST_SUBGRAPHS, MOST_OPERATORS, MOST_TENSORS = 1000, 20_000, 20_000
_SLOTS = {  # the Model's fields that point somewhere, by their place in the vtable
    6: tflite.ModelAddOperatorCodes,
    8: tflite.ModelAddSubgraphs,
    10: tflite.ModelAddDescription,
    12: tflite.ModelAddBuffers,
    14: tflite.ModelAddMetadataBuffer,
    16: tflite.ModelAddMetadata,
    18: tflite.ModelAddSignatureDefs,
}
_BUFFERS, _METADATA, _NEXT_SLOT = 12, 16, 20


def with_offline_plan(data: bytes, source: str | Path, offsets: Sequence[int]) -> bytes:
    """The ``.tflite`` file ``data`` with an offline memory plan; one it had is replaced.

    ``offsets`` has one entry per tensor of the first subgraph: its first byte in the arena's head, a multiple of 16, or
    -1 where TFLM's own planner is to find a place (and for constants, where it reads none); tensors of further
    subgraphs get -1. Tensors may overlap. Format: TFLM's docs/memory_management.md, "Offline planned tensor
    allocations"; TFLM ignores version and subgraphs. ``source`` names the file in messages.

    Raises UsageError for an offset that TFLM's kernels could not work at, ModelError for a file that cannot be read
    or cannot be moved: bytes kept after the flatbuffer, fields this schema does not know.

    Not modelled: whether the plan is sound and the network one that can be read, and the bytes of a plan that was
    replaced, which stay in the file unused.
    """
    for tensor, offset in enumerate(offsets):
        if offset != -1 and (not 0 <= offset < 2**31 or offset % ALIGNMENT):
            raise UsageError(f"offset {offset} of tensor {tensor}: must be a multiple of {ALIGNMENT} below 2^31, or -1")
    file = File(data, source)
    with file.reading("the offline memory plan's tensors"):
        model = file.table(tflite.Model.GetRootAs(data, 0))
        subgraphs = file.count(model.SubgraphsLength(), 4, MOST_SUBGRAPHS, "subgraphs")
        if subgraphs == 0:
            raise file.error("it has no subgraph")
        counts = [file.table(model.Subgraphs(i)).TensorsLength() for i in range(subgraphs)]
        for count in counts:
            file.count(count, 4, MOST_TENSORS, "tensors")
        if counts[0] != len(offsets):
            raise file.error(f"it has {counts[0]} tensors, the plan {len(offsets)} offsets")
    offsets = (*offsets, *(-1,) * sum(counts[1:]))
    return _Moved(file, model).write((VERSION, subgraphs, len(offsets), *offsets))


def without_offline_plan(data: bytes, source: str | Path) -> bytes:
    """The ``.tflite`` file ``data`` without its offline memory plan; ``data`` itself when it has none.

    Raises ModelError as :func:`with_offline_plan` does. Not modelled: the plan's bytes stay in the file, unused.
    """
    file = File(data, source)
    with file.reading("the metadata"):
        model = file.table(tflite.Model.GetRootAs(data, 0))
        if all(name != OFFLINE_PLAN for name, _ in metadata(file, model)):
            return data
    return _Moved(file, model).write(None)


def read_offline_plan(file: File, model: Any) -> tuple[int, ...] | None:
    """The offsets of the file's offline memory plan, one for each tensor; None without one.

    As TFLM reads it: of several the last, whatever version and subgraph it names. What cannot be a plan gives as many
    offsets as there are: whoever uses them compares that with the tensors. Raises ModelError for damaged metadata.
    """
    with file.reading("the metadata"):
        places = [i for i, (name, _) in enumerate(metadata(file, model)) if name == OFFLINE_PLAN]
        if not places:
            return None
        index = model.Metadata(places[-1]).Buffer()
        if index >= model.BuffersLength():
            return ()
        buffer = file.table(model.Buffers(index))
        count = file.count(buffer.DataLength() // 4, 4, MOST_OFFSETS, "numbers of the offline memory plan")
        numbers = struct.unpack(f"<{count}i", bytes(buffer.DataAsNumpy())[: 4 * count]) if count else ()
    return numbers[3 : 3 + max(0, numbers[2])] if count > 3 else ()


def metadata(file: File, model: Any) -> list[tuple[str, int]]:
    """Name and position of every metadata entry. To be called within ``file.reading``."""
    count = file.count(model.MetadataLength(), 4, MOST_METADATA, "metadata entries")
    entries = [file.table(model.Metadata(i)) for i in range(count)]
    return [(file.text(entry, 4), entry._tab.Pos) for entry in entries]


class _Moved:
    """A file after a new front. Positions are the old file's; a builder counts from the end of what it builds."""

    def __init__(self, file: File, model: Any) -> None:
        self.file, self.model = file, model
        with file.reading("the buffers and the metadata"):
            _refuse_outside(file, model)
            self.entries = metadata(file, model)
            self.buffers = _buffers(file, model)
            self.fields = {slot: _target(file, model, slot) for slot in _SLOTS if model._tab.Offset(slot)}
            self.version = model.Version()

    def write(self, plan: Sequence[int] | None) -> bytes:
        size, tables = len(self.file.data), len(self.buffers) + len(self.entries)
        # large enough from the start: a builder that grows holds its bytes twice
        b: Any = flatbuffers.Builder(size + 4 * (tables + len(plan or ())) + 4096)
        b.Prep(ALIGNMENT, size)
        blob = b.CreateByteVector(self.file.data) - 4  # the vector's length comes before the bytes
        padding = blob - size
        new = {slot: blob - position for slot, position in self.fields.items()}
        buffers = [blob - position for position in self.buffers]
        entries = [blob - position for name, position in self.entries if name != OFFLINE_PLAN]
        if plan is not None:
            entries.append(_entry(b, len(buffers)))
            buffers.append(_plan(b, plan))
            new[_BUFFERS] = _vector(b, buffers)
        new.pop(_METADATA, None)
        if entries:
            new[_METADATA] = _vector(b, entries)
        tflite.ModelStart(b)
        tflite.ModelAddVersion(b, self.version)
        for slot, place in new.items():
            _SLOTS[slot](b, place)
        b.Finish(tflite.ModelEnd(b), file_identifier=b"TFL3")
        return bytes(memoryview(b.Bytes)[b.Head() : len(b.Bytes) - padding])


def _refuse_outside(file: File, model: Any) -> None:
    """Raise ModelError for what would point to a wrong place, or be lost, once the file has moved."""
    size = struct.unpack_from("<H", file.data, model._tab.Pos - model._tab.Get(SOffsetTFlags, model._tab.Pos))[0]
    unknown = [(slot - 4) // 2 for slot in range(_NEXT_SLOT, size, 2) if model._tab.Offset(slot)]
    if unknown:
        raise file.error(f"field {unknown[0]} of its root table is not known, so it cannot be carried over")
    for index in range(file.count(model.SubgraphsLength(), 4, MOST_SUBGRAPHS, "subgraphs")):
        graph = file.table(model.Subgraphs(index))
        for i in range(file.count(graph.OperatorsLength(), 4, MOST_OPERATORS, "operators")):
            operator = file.table(graph.Operators(i))
            if operator.LargeCustomOptionsOffset() > 1 or operator.LargeCustomOptionsSize() > 1:
                raise _outside(file, f"operator {i}'s options")


def _buffers(file: File, model: Any) -> list[int]:
    """The positions of the Buffer tables, whose bytes lie inside the flatbuffer."""
    count = file.count(model.BuffersLength(), 4, MOST_BUFFERS, "buffers")
    if count == 0:
        raise file.error("it has none")
    positions = []
    for i in range(count):
        buffer = file.table(model.Buffers(i))
        if buffer.Offset() > 1 or buffer.Size() > 1:
            raise _outside(file, f"buffer {i}")
        positions.append(buffer._tab.Pos)
    return positions


def _outside(file: File, what: str) -> ModelError:
    return ModelError(
        f"{file.source}: bytes of {what} are after the flatbuffer (large model), at a place that would change;"
        " convert it with all of them inside"
    )


def _target(file: File, model: Any, slot: int) -> int:
    """What the root table's field in vtable slot ``slot`` points to."""
    table = model._tab
    position = int(table.Indirect(table.Pos + table.Offset(slot)))
    if position > len(file.data) - 4:
        raise file.error(f"an offset points to byte {position:,}, the file has {len(file.data):,}")
    return position


def _vector(b: Any, tables: Sequence[int]) -> int:
    b.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        b.PrependUOffsetTRelative(table)
    return int(b.EndVector())


def _plan(b: Any, plan: Sequence[int]) -> int:
    """The Buffer table of the numbers of ``plan``."""
    raw = struct.pack(f"<{len(plan)}i", *plan)
    b.Prep(ALIGNMENT, len(raw))
    values = b.CreateByteVector(raw)
    tflite.BufferStart(b)
    tflite.BufferAddData(b, values)
    return int(tflite.BufferEnd(b))


def _entry(b: Any, buffer: int) -> int:
    name = b.CreateString(OFFLINE_PLAN)
    tflite.MetadataStart(b)
    tflite.MetadataAddName(b, name)
    tflite.MetadataAddBuffer(b, buffer)
    return int(tflite.MetadataEnd(b))
