"""Structs of 64-bit words: a class of annotated fields is the layout, the native type, what mypy checks and what Python
reads.

    class Bank(Struct):
        row: int                                # a word
        activated: int

    class Sdram(Struct):
        t_rp: int
        columns: Annotated[Words, 16]           # sixteen words
        banks: Annotated[Structs[Bank], 4]      # four of another struct; 0, at the end: as many as there are
        spare: Bank                             # another struct
        shared: Annotated[Bank, POINTER]        # the address of one that lies elsewhere, or of words; 0: of none

``Sdram(words, offset)`` is the struct that begins ``offset`` words into an array of int64, or into another struct;
native functions make it likewise, or of an address, and take it as an argument (:mod:`mcusim.native.numba_types`),
where it is an address, and a field one load at a constant offset.

Not modelled: words of another size, alignment, and bounds: an index beyond an array reads what lies there. Python sets
a pointer, and keeps alive what it points to.
"""

from __future__ import annotations

from ctypes import addressof, c_char
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints
from weakref import ReferenceType, ref

import numpy as np

Array = np.ndarray[Any, np.dtype[np.int64]]
S = TypeVar("S", bound="Struct")
POINTER = "pointer"
"""In a field's annotation: it is the address of a struct, or of words."""


class Words:
    """So many words of an array, from an offset on."""

    __slots__ = ("array", "offset")

    def __init__(self, start: Array | Words | Struct | int, offset: int = 0) -> None:
        self.array, self.offset = _from(start, offset)

    def __getitem__(self, index: int) -> int:
        return self.array.item(self.offset + index)

    def __setitem__(self, index: int, word: int) -> None:
        self.array[self.offset + index] = word

    def table(self, count: int) -> Array:
        """The first ``count`` of them as an array; for Python alone."""
        return self.array[self.offset : self.offset + count]


class Structs(Generic[S]):
    """Structs of one kind, one behind another."""

    __slots__ = ("array", "kind", "offset")

    def __init__(self, kind: type[S], array: Array, offset: int) -> None:
        self.kind, self.array, self.offset = kind, array, offset

    def __getitem__(self, index: int) -> S:
        return self.kind(self.array, self.offset + index * self.kind.WORDS)

    def table(self, count: int) -> np.ndarray[Any, Any]:
        """The first ``count`` as an array of numpy's records, ``table["row"]`` a field of all; for Python alone."""
        words = self.array[self.offset : self.offset + count * self.kind.WORDS]
        return words.view(self.kind.numpy_type())


class StructField(NamedTuple):
    """A field: ``length`` of ``kind`` (None: words) from the word ``offset`` on; ``single``: not an array; ``pointer``:
    the address of one that lies elsewhere."""

    name: str
    offset: int
    kind: type[Struct] | None
    length: int
    single: bool
    pointer: bool = False

    @property
    def words(self) -> int:
        """How many it takes."""
        return self.length * (1 if self.kind is None or self.pointer else self.kind.WORDS)


class _Word:
    """A field of one word as Python reads and writes it."""

    __slots__ = ("field", "offset")

    def __init__(self, field: StructField) -> None:
        self.field, self.offset = field, field.offset

    def __get__(self, struct: Struct | None, owner: type[Struct]) -> Any:
        return self.field if struct is None else struct.array.item(struct.offset + self.offset)

    def __set__(self, struct: Struct, word: int) -> None:
        struct.array[struct.offset + self.offset] = word


class _Descriptor:
    """Another field."""

    __slots__ = ("field",)

    def __init__(self, field: StructField) -> None:
        self.field = field

    def __get__(self, struct: Struct | None, owner: type[Struct]) -> Any:
        if struct is None:
            return self.field
        kind, offset = self.field.kind, struct.offset + self.field.offset
        if self.field.pointer:
            return _followed(self.field, int(struct.array[offset]))
        if self.field.single and kind is not None:
            return kind(struct.array, offset)
        return Words(struct.array, offset) if kind is None else Structs(kind, struct.array, offset)

    def __set__(self, struct: Struct, value: int | Struct | Words | None) -> None:
        word: Any = value
        if self.field.pointer and isinstance(value, Struct | Words | None):
            word = 0 if value is None else address_of(value)
            if value is not None:
                _pointed[word] = ref(value.array, lambda _: _pointed.pop(word, None)), value.offset
        else:
            raise AttributeError(f"{self.field.name} is no word")
        struct.array[struct.offset + self.field.offset] = word


_pointed: dict[int, tuple[ReferenceType[Array], int]] = {}  # by address: the array that Python has pointed into, offset


def _followed(field: StructField, address: int) -> Any:
    """What a pointer points at, None for 0."""
    if not address:
        return None
    reference, offset = _pointed.get(address, (None, 0))
    array = None if reference is None else reference()
    if array is None:
        raise AttributeError(f"{field.name} points at {address:#x}, where Python has nothing any more")
    return Words(array, offset) if field.kind is None else field.kind(array, offset)


class Struct:
    """The struct that begins ``offset`` words into ``start``: an array, words of it, or another struct."""

    WORDS: ClassVar[int] = 0
    ROOT: ClassVar[bool] = False
    FIELDS: ClassVar[dict[str, StructField]] = {}
    __slots__ = ("array", "offset")

    def __init__(self, start: Array | Words | Struct | int, offset: int = 0) -> None:
        self.array, self.offset = _from(start, offset)

    def __init_subclass__(cls, root: bool = False) -> None:
        """``root``: it begins an array, which native functions take from Python in place of the struct."""
        end, cls.FIELDS, cls.ROOT = 0, {}, root
        for name, hint in get_type_hints(cls, include_extras=True).items():
            if get_origin(hint) is ClassVar or hint is ClassVar:
                continue
            if hasattr(Struct, name):
                raise TypeError(f"{cls.__name__}.{name}: every struct has an attribute of that name already")
            field = _field(f"{cls.__name__}.{name}", name, end, hint)
            cls.FIELDS[name] = field
            word = field.single and field.kind is None and not field.pointer
            setattr(cls, name, _Word(field) if word else _Descriptor(field))
            end = field.offset + field.words
        cls.WORDS = end
        STRUCTS.append(cls)

    def zero(self, first: object, last: object) -> None:
        """Zero the fields from ``first`` to ``last``, ``sdram.zero(Sdram.t_rp, Sdram.banks)``; for Python alone."""
        begin, end = cast(StructField, first), cast(StructField, last)
        self.array[self.offset + begin.offset : self.offset + end.offset + end.words] = 0

    @classmethod
    @cache
    def numpy_type(cls) -> np.dtype[np.void]:
        """numpy's record of the same fields."""
        fields = []
        for field in cls.FIELDS.values():
            kind = np.dtype(np.int64) if field.kind is None or field.pointer else field.kind.numpy_type()
            fields.append((field.name, kind) if field.single else (field.name, kind, (field.length,)))
        return cast(np.dtype[np.void], np.dtype(cast(Any, fields)))


def _from(start: Array | Words | Struct | int, offset: int) -> tuple[Array, int]:
    if isinstance(start, int):
        raise TypeError(f"{start:#x} is an address: only native code follows it")
    return (start.array, start.offset + offset) if isinstance(start, Struct | Words) else (start, offset)


STRUCTS: list[type[Struct]] = []
"""All kinds, in the order of their declarations."""


def _field(where: str, name: str, offset: int, hint: Any) -> StructField:
    kind, count = hint, 1
    if get_origin(hint) is Annotated:
        kind, count = get_args(hint)
        if count == POINTER:
            return StructField(name, offset, None if kind is Words else kind, 1, True, True)
        if not isinstance(count, int) or count < 0:
            raise TypeError(f"{where} has {count!r} elements: must be a whole number, at least 0")
    single = get_origin(hint) is not Annotated
    if get_origin(kind) is Structs:
        (kind,) = get_args(kind)
    elif kind is Words:
        kind = int
    elif not single:
        raise TypeError(f"{where}: an array is Annotated[Words, n] or Annotated[Structs[KIND], n]")
    if kind is int:
        return StructField(name, offset, None, count, single)
    if not isinstance(kind, type) or not issubclass(kind, Struct) or not kind.WORDS:
        raise TypeError(f"{where}: a field is an int, Words, or a struct that was declared before")
    return StructField(name, offset, kind, count, single)


def offset_of(field: object) -> int:
    """Of a field, ``offset_of(Sdram.banks)``: words from the begin of its struct."""
    return cast(StructField, field).offset


def address_of(start: Struct | Words) -> int:
    """Of its first word; for native code too."""
    return array_address(start.array) + 8 * start.offset


def array_address(array: Array) -> int:
    """Of its first word."""
    try:
        return addressof(c_char.from_buffer(cast(Any, array)))
    except (TypeError, ValueError):  # Python may not write to it, or it is empty
        return int(array.ctypes.data)


def words_between(begin: Struct | Words, end: Struct | Words) -> int:
    """How many words behind ``begin`` the struct ``end`` of the same array lies; for native code too."""
    return end.offset - begin.offset
