"""Reader of program files; the format is described in :mod:`mcusim.program.writer`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args

from mcusim.errors import ProgramError
from mcusim.files import read_guarded, without_mark
from mcusim.model.geometry import GROUPED, Geometry, Tile, known_types
from mcusim.model.strided_copy import AXES
from mcusim.program import field_readers as f
from mcusim.program.program import (
    FILE_BYTES,
    FORMAT,
    TASKS,
    VERSION,
    Asked,
    Buffer,
    BufferKind,
    Compute,
    Header,
    Maintain,
    MemoryParts,
    Operand,
    OperatorInfo,
    Program,
    Role,
    StreamSetting,
    Task,
    Transfer,
    Work,
)  # fmt: skip
from mcusim.program.samples import sample_file

Result = TypeVar("Result")
LINE_BYTES = 4 << 20
STREAM = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}\.s[0-9]{1,2}")
ROLES = get_args(Role)
BUFFER_KINDS = get_args(BufferKind)
TRANSFER_KINDS = ("input", "input1", "filter", "bias", "multiplier", "shift", "output")
ACTIONS = ("clean", "invalidate", "clean+invalidate")
TEXTS = ("machine", "model", "model_sha256", "policy", "kernels")
MEMORY = ("activations", "scratch", "overlay", "runtime", "arena", "weights")
HEADER = (
    "format",
    "version",
    *TEXTS,
    "random_weights",
    "options",
    "memory",
    "peak_bytes",
    "operators",
    "buffers",
    "warnings",
)
GEOMETRY = (
    "batch",
    "kernel",
    "stride",
    "dilation",
    "pad",
    "depth_multiplier",
    "inputs",
    "item",
    "types",
    "slow_channels",
    "clamped",
    "paddings",
    "groups",
)
TASK = ("id", "do", "lane", "op", "tile")
OWN_KEYS = {
    "compute": ("tiles", "geometry", "rows", "operands"),
    "transfer": ("kind", "from", "to", "request", "part", "parts", "priority"),
    "maintain": ("action", "span"),
    "work": ("cycles", "maintenance", "asked"),
}
SIDES = ("beat", "burst", "to_beat", "to_burst")
THRESHOLDS = ("1/4", "1/2", "3/4", "full")
CYCLES = 1 << 53  # of recorded work


def read_program(path: str | Path) -> Program:
    """The program in the file ``path``, or the sample of that name (:func:`~mcusim.program.samples.sample_file`).
    Raises ProgramError with file, line number and reason for whatever is wrong.

    Checked: syntax, keys, types, ranges, ids, ``after``, geometry. Left to :func:`mcusim.program.check.check_program`:
    what only a machine can tell (regions, streams, who reaches what).
    """
    lines = _lines(sample_file(path))
    header = _at(path, 1, lambda: _header(_parse(lines[0])))
    tasks: dict[int, Task] = {}

    def add(line: bytes) -> None:
        task = _task(_parse(line), len(header.operators))
        _link(task, tasks)
        tasks[task.id] = task

    for number, line in enumerate(lines[1:], 2):
        _at(path, number, partial(add, line))
    return Program(header, tuple(tasks.values()))


def _at(path: str | Path, number: int, build: Callable[[], Result]) -> Result:
    """``build()``; what it finds wrong is reported with file and line number."""
    try:
        return build()
    except f.FieldError as error:
        raise ProgramError(f"{path}, line {number}: {error}") from None


def _lines(path: Path) -> list[bytes]:
    """Lines of the file, at least one."""
    data = without_mark(read_guarded(path, FILE_BYTES, ProgramError, too_large=", the most a program file may have"))
    lines = data.removesuffix(b"\n").split(b"\n")
    if not data.strip():
        raise ProgramError(f"{path}, line 1: empty file; the first line must be the header")
    if len(lines) - 1 > TASKS:
        raise ProgramError(f"{path}, line {TASKS + 2}: more than {TASKS} tasks")
    return lines


def _parse(line: bytes) -> Any:
    if len(line) > LINE_BYTES:
        raise f.FieldError(f"longer than {LINE_BYTES} B, the most a line may have")
    if not line.strip():
        raise f.FieldError("blank line")
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_constant, object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise f.FieldError(f"not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise f.FieldError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise f.FieldError(f"not JSON at column {error.colno}: {error.msg}") from None
    except f.FieldError:
        raise
    except ValueError:
        raise f.FieldError("a number with too many digits") from None


def _constant(word: str) -> NoReturn:
    raise f.FieldError(f"{word} is not a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique: dict[str, Any] = {}
    for key, value in pairs:
        if key in unique:
            raise f.FieldError(f"key {f.quoted(key)} is given twice")
        unique[key] = value
    return unique


def _header(value: Any) -> Header:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise f.FieldError(f'not a program: the first line must be the header, with "format": "{FORMAT}"')
    if value.get("version") != VERSION or isinstance(value["version"], bool):
        raise f.FieldError(f"version {f.quoted(value.get('version'))} is not supported; this reads version {VERSION}")
    fields = f.keys(value, HEADER, ("made",))
    if not isinstance(fields.get("made", {}), dict):
        raise f.FieldError("made must be an object")
    if not isinstance(fields["random_weights"], bool):
        raise f.FieldError(f"random_weights must be true or false, found {f.quoted(fields['random_weights'])}")
    memory = f.keys(fields["memory"], MEMORY, ("arena_exported", "state"))
    peak = fields["peak_bytes"]
    operators = tuple(_operator(v, n) for n, v in enumerate(f.items(fields["operators"], "operators")))
    options = f.options(fields["options"])
    if sorted(options.get("operator_order", range(len(operators)))) != list(range(len(operators))):
        raise f.FieldError(f"option 'operator_order' must name each of the {len(operators)} operators once")
    return Header(
        **{key: f.text(fields[key], key) for key in TEXTS},
        operators=operators,
        memory=MemoryParts(**{key: f.whole(size, key, f.ADDRESSES) for key, size in memory.items()}),
        peak_bytes={f.matching(k, "region"): f.whole(v, k, f.ADDRESSES + 1) for k, v in f.keys(peak, (), peak).items()},
        buffers=tuple(_buffer(v, len(operators)) for v in f.items(fields["buffers"], "buffers")),
        options=options,
        warnings=f.texts(fields["warnings"], "warnings"),
        random_weights=fields["random_weights"],
    )


def _operator(value: Any, position: int) -> OperatorInfo:
    values = f.items(value, "an operator")
    if len(values) != 3:
        raise f.FieldError(f"an operator must be [index, type, macs], found {len(values)} entries")
    if f.whole(values[0], "operator index") != position:
        raise f.FieldError(f"operator {values[0]} is at position {position}")
    return OperatorInfo(position, f.text(values[1], "operator type"), f.whole(values[2], "macs", 1 << 48))


def _buffer(value: Any, operators: int) -> Buffer:
    values = f.items(value, "a buffer")
    if len(values) != 7:
        raise f.FieldError(
            f"a buffer must be [name, kind, region, address, bytes, first, last], found {len(values)} entries"
        )
    name, kind = f.text(values[0], "buffer name"), f.choice(values[1], "buffer kind", BUFFER_KINDS)
    last = f.whole(values[6], "last operator of a buffer", max(operators, 1))
    first = f.whole(values[5], "first operator of a buffer", last + 1)
    return Buffer(name, kind, f.span(values[2:5], f"buffer '{name:.60}'"), first, last)


def _task(value: Any, operators: int) -> Task:
    do = f.choice(value.get("do"), "task", tuple(OWN_KEYS)) if isinstance(value, dict) else "compute"
    v = f.keys(value, (*TASK, *OWN_KEYS[do]), ("after", "setting") if do == "transfer" else ("after",))
    where = (f.whole(v["id"], "id"), f.whole(v["op"], "op", operators), f.whole(v["tile"], "tile"))
    after = tuple(f.whole(a, "an id in after") for a in f.items(v.get("after", []), "after"))
    if do == "transfer":
        return _transfer(v, where, after)
    f.choice(v["lane"], f"lane of a {do} task", ("core",))
    if do == "maintain":
        action = f.choice(v["action"], "action", ACTIONS)
        return Maintain(*where, action, f.span(v["span"], "span"), after)
    if do == "work":
        cycles, maintenance = (f.whole(v[key], key, CYCLES) for key in ("cycles", "maintenance"))
        asked = tuple(_asked(item) for item in f.items(v["asked"], "asked"))
        return Work(*where, cycles, maintenance, asked, after)
    return _compute(v, where, after)


def _transfer(v: dict[str, Any], where: tuple[int, int, int], after: tuple[int, ...]) -> Transfer:
    lane = f.matching(v["lane"], "lane of a transfer", STREAM)
    parts = f.whole(v["parts"], "parts", least=1)
    return Transfer(
        where[0],
        lane,
        *where[1:],
        kind=f.choice(v["kind"], "kind", TRANSFER_KINDS),
        source=f.span(v["from"], "from"),
        destination=f.span(v["to"], "to"),
        request=f.whole(v["request"], "request"),
        part=f.whole(v["part"], "part", parts),
        parts=parts,
        priority=f.whole(v["priority"], "priority", 256),
        after=after,
        setting=_setting(v["setting"]) if "setting" in v else None,
    )


def _setting(value: Any) -> StreamSetting:
    v = f.keys(value, (*SIDES, "threshold", "handler"))
    for key in SIDES:
        if f.whole(v[key], key, 17) not in (1, 2, 4, 8, 16):
            raise f.FieldError(f"{key} of a stream must be 1, 2, 4, 8 or 16, found {v[key]}")
    threshold = f.choice(v["threshold"], "threshold", THRESHOLDS)
    return StreamSetting(**{**v, "threshold": threshold, "handler": f.whole(v["handler"], "handler", CYCLES)})


def _asked(value: Any) -> Asked:
    """``[region, reads, writes, read bytes, write bytes, rows, wait, pattern]``."""
    values = f.items(value, "an entry of asked")
    if len(values) != 8:
        raise f.FieldError(f"an entry of asked must be a region and 7 numbers, found {len(values)} entries")
    region, numbers = f.matching(values[0], "region of asked"), f.numbers(values[1:], "asked", 7, CYCLES)
    for count, size, what in ((numbers[0], numbers[2], "read"), (numbers[1], numbers[3], "written")):
        if size < count or (size and not count):
            raise f.FieldError(f"asked of {region}: {size} B {what} by {count} accesses")
    return Asked(region, *numbers)


def _compute(v: dict[str, Any], where: tuple[int, int, int], after: tuple[int, ...]) -> Compute:
    tiles = f.whole(v["tiles"], "tiles", least=1)
    f.whole(where[2], "tile", tiles)
    g = _geometry(v["geometry"])
    rows = Tile(*f.numbers(v["rows"], "rows", 4))
    if rows.out_row + rows.out_rows > g.out_h or rows.in_row + rows.in_rows > g.in_h:
        raise f.FieldError(f"rows {v['rows']} reach outside the geometry's {g.out_h} output and {g.in_h} input rows")
    operands = tuple(_operand(o) for o in f.items(v["operands"], "operands"))
    return Compute(*where, tiles, g, rows, operands, after)


def _operand(value: Any) -> Operand:
    values = f.items(value, "an operand")
    if len(values) != 5:
        raise f.FieldError(f"an operand must be [role, access, region, address, bytes], found {len(values)} entries")
    role = f.choice(values[0], "role", ROLES)
    return Operand(role, f.span(values[2:], f"operand {role}"), f.choice(values[1], "access", ("r", "w", "rw")))


def _geometry(value: Any) -> Geometry:
    v = f.keys(value, ("type", "in", "out"), GEOMETRY)
    ends = f.numbers(v["in"], "in", 3, least=1) + f.numbers(v["out"], "out", 3, least=1)
    windows = [n for key in ("kernel", "stride", "dilation") for n in f.numbers(v.get(key, [1, 1]), key, 2, least=1)]
    pads = f.numbers(v.get("pad", [0, 0, 0, 0]), "pad", 4)
    batch, *rest = (f.whole(v.get(k, 1), k, f.SIZE, 1) for k in ("batch", "depth_multiplier", "inputs", "item"))
    shape: list[Any] = [batch, *ends, *windows, *pads, *rest]
    shape.append(f.matching(v.get("types", "int8"), "types"))
    shape += [
        f.whole(v.get("slow_channels", 0), "slow_channels", ends[5] + 1),
        f.whole(v.get("clamped", 0), "clamped", 2),
        tuple(_padding(axis) for axis in f.items(v.get("paddings", []), "paddings")),
        f.whole(v.get("groups", 1), "groups", f.SIZE, 1),
    ]
    g = Geometry(f.text(v["type"], "operator type"), *shape)
    _check_groups(g)
    _check_paddings(g)
    if max(g.in_bytes, g.out_bytes) >= f.ADDRESSES or g.macs >= 1 << 48:
        raise f.FieldError("geometry is larger than 32-bit addresses and 2^48 MACs allow")
    return g


def _check_groups(g: Geometry) -> None:
    """Are ``types`` known, and ``groups`` those of a CONV_2D whose types say so?"""
    if not known_types(g.types):
        raise f.FieldError(f"types {g.types[:80]} are none; they are such as int8, int8_to_float32, int8{GROUPED}")
    plain = g.traits.per_channel and g.traits.windowed and not g.traits.depthwise
    if (g.groups > 1) != g.types.endswith(GROUPED) or (g.groups > 1 and not plain):
        raise f.FieldError(
            f"groups {g.groups} of {g.type} of {g.types}: a CONV_2D in groups has types that end in {GROUPED}"
        )
    if g.in_c % g.groups or g.out_c % g.groups:
        raise f.FieldError(f"groups {g.groups} do not divide {g.in_c} input and {g.out_c} output channels")


def _check_paddings(g: Geometry) -> None:
    """Are ``paddings`` those of the geometry's own input and output?"""
    if not g.paddings:
        return
    if len(g.paddings) > AXES:
        raise f.FieldError(f"paddings of {len(g.paddings)} axes; kernels move tensors of up to {AXES}")
    before, source, target = zip(*g.paddings, strict=True)
    if len(g.paddings) == 4:
        padded = before[1:3], source[1:], target
    else:
        padded = (0, 0), (1, 1, prod(source)), (1, 1, 1, prod(target))
    own = (g.pad_top, g.pad_left), (g.in_h, g.in_w, g.in_c), (g.batch, g.out_h, g.out_w, g.out_c)
    if padded != own:
        raise f.FieldError(
            f"paddings {[list(axis) for axis in g.paddings]} are not of an input"
            f" {g.in_h}x{g.in_w}x{g.in_c} and an output of {g.batch} times {g.out_h}x{g.out_w}x{g.out_c}"
        )


def _padding(value: Any) -> tuple[int, int, int]:
    before, inside, size = f.numbers(value, "paddings", 3)
    if not 0 < inside <= size - before:
        raise f.FieldError(f"paddings {value} are not [before, input, output] elements of an axis")
    return before, inside, size


def _link(task: Task, earlier: dict[int, Task]) -> None:
    """Is the id new, and does ``after`` name earlier tasks only?"""
    if task.id in earlier:
        raise f.FieldError(f"id {task.id} is used twice")
    for other in task.after:
        if other not in earlier:
            raise f.FieldError(f"after names task {other}, which no earlier line defines")
    if isinstance(task, Transfer) and task.source.bytes != task.destination.bytes:
        raise f.FieldError(f"a transfer moves {task.source.bytes} B into {task.destination.bytes} B")
