"""Prototypes of a module's functions, by its debug information (DWARF 4 and 5), and values made to fit them.

A value becomes what C would make of it: a number of the parameter's type, the address of a tensor. Not modelled:
functions without debug information or without a prototype (``f()`` in C), whose values go as they are; what lies behind
a ``...``; members of structures.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mcusim.errors import UsageError
from mcusim.units import quoted

if TYPE_CHECKING:
    from mcusim.sessions.arguments import Value

LARGEST = 8 << 20  # bytes of debug information that are looked at
MOST_TYPES = 32  # typedefs and the like behind each other
Kind = Literal["integer", "float", "pointer", "structure", "void", "other"]
_WRAPPERS = ("typedef", "const_type", "volatile_type", "restrict_type", "atomic_type")
_QUALIFIERS = {"const_type": "const", "volatile_type": "volatile", "atomic_type": "_Atomic"}
_STRUCTURES = ("structure_type", "class_type", "union_type")
_FLOATS = {4: np.float32, 8: np.float64}


@dataclass(frozen=True, slots=True)
class CType:
    """A type as C writes it; ``of`` is the kind of what a pointer points at, ``size`` and ``signed`` are its own, of a
    pointer those of what it points at (0: not known)."""

    text: str
    kind: Kind
    size: int
    signed: bool = False
    of: Kind = "other"

    def value(self, registers: tuple[int, int, int, int]) -> int | float | None:
        """What a function of this type returned, of r0, r1, s0 and s1; of a structure r0 as it is."""
        if self.kind == "void":
            return None
        if self.kind == "float":
            words = np.array(registers[2:], "<u4")
            return float(words[:1].view("<f4")[0] if self.size == 4 else words.view("<f8")[0])
        number = registers[0] | (registers[1] << 32 if self.size == 8 else 0)
        if self.kind != "integer":
            return registers[0]
        number &= (1 << 8 * self.size) - 1
        return number - (1 << 8 * self.size if self.signed and number >> (8 * self.size - 1) else 0)


@dataclass(frozen=True, slots=True)
class Prototype:
    """``parameters``: names and types; ``open_ended``: there may be more values."""

    name: str
    returns: CType
    parameters: tuple[tuple[str, CType], ...]
    open_ended: bool = False

    def __str__(self) -> str:
        listed = [f"{kind.text} {name}".replace("* ", "*").strip() for name, kind in self.parameters]
        several = ", ".join([*listed, *["..."] * self.open_ended]) or "void"
        return f"{self.returns.text} {self.name[:80]}({several})".replace("* ", "*")[:300]

    def fitted(self, values: Sequence[Value]) -> list[Value]:
        """``values`` as the parameters have them. Raises UsageError for too many, too few and other kinds."""
        count = len(self.parameters)
        if len(values) < count or (len(values) > count and not self.open_ended):
            least = f"at least {count}" if self.open_ended else str(count)
            raise UsageError(f"{self} takes {least} value{'s' if count != 1 else ''}, not {len(values)}")
        own = [
            self._fitted(name or f"value {index}", kind, value)
            for index, ((name, kind), value) in enumerate(zip(self.parameters, values, strict=False), 1)
        ]
        return [*own, *values[count:]]

    def _fitted(self, name: str, kind: CType, value: Any) -> Any:
        if kind.kind == "integer":
            return self._integer(name, kind, value)
        if kind.kind == "float" and kind.size in _FLOATS:
            if not isinstance(value, int | float | np.integer | np.floating):
                raise self._other(name, kind, value)
            return _FLOATS[kind.size](value)
        if kind.kind == "pointer":
            return self._pointer(name, kind, value)
        if kind.kind == "structure" and (not isinstance(value, np.void) or value.dtype.itemsize != kind.size):
            raise self._other(name, kind, value, f" a numpy structure of {kind.size} B")
        return value

    def _integer(self, name: str, kind: CType, value: Any) -> Any:
        bits = 8 * kind.size
        if not isinstance(value, int | np.integer | np.bool_) or bits not in (8, 16, 32, 64):
            raise self._other(name, kind, value)
        number = int(value)
        if not -(1 << (bits - 1)) <= number < 1 << bits:
            raise UsageError(f"{self}: {name} is {kind.text}, of {bits} bits; {_short(value)} has more")
        number &= (1 << bits) - 1
        if kind.signed and number >> (bits - 1):
            number -= 1 << bits
        return (np.int64 if kind.signed else np.uint64)(number) if bits == 64 else number

    def _pointer(self, name: str, kind: CType, value: Any) -> Any:
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            return int(value)
        dtype = getattr(value, "dtype", None)
        if getattr(value, "address", None) is None or dtype is None:
            raise self._other(name, kind, value, " a tensor or an address")
        plain = kind.of in ("integer", "float") and kind.size > 0 and dtype.itemsize > 1 and dtype.fields is None
        alike = dtype.itemsize == kind.size and (dtype.kind == "f") is (kind.of == "float")
        if plain and not alike and kind.size > 1:
            raise UsageError(
                f"{self}: {name} is {kind.text}, the tensor's values are {dtype}; its .address goes for any pointer"
            )
        if kind.of in ("integer", "float") and kind.size == 1 and dtype.kind == "f":
            raise UsageError(
                f"{self}: {name} is {kind.text}, the tensor's values are {dtype}; its .address goes for any pointer"
            )
        return value

    def _other(self, name: str, kind: CType, value: Any, wanted: str = "") -> UsageError:
        return UsageError(f"{self}: {name} is {kind.text},{wanted or ' a number'}; {_short(value)} is none")


def _short(value: Any) -> str:
    if getattr(value, "address", None) is not None:
        return "a tensor"
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length():,} bits"
    return quoted(str(value)[:40]) if isinstance(value, str) else f"{type(value).__name__} {str(value)[:40]}"


def read_prototypes(data: bytes) -> dict[str, Prototype]:
    """Of the functions that an object file has, by the names of their symbols; none where its debug information is
    missing, damaged or very large."""
    from elftools.elf.elffile import ELFFile

    try:
        file = ELFFile(io.BytesIO(data))
        section = file.get_section_by_name(".debug_info")
        if section is None or not 0 < section.data_size <= LARGEST:
            return {}
        prototypes = {}
        for unit in file.get_dwarf_info().iter_CUs():
            for entry in unit.get_top_DIE().iter_children():
                prototype = _prototype(entry)
                if prototype is not None:
                    prototypes[prototype.name] = prototype
        return prototypes
    except Exception:  # pyelftools trusts what a file says
        return {}


def _prototype(entry: Any) -> Prototype | None:
    if entry.tag != "DW_TAG_subprogram" or "DW_AT_low_pc" not in entry.attributes:
        return None
    named = _through(entry, "DW_AT_linkage_name", "DW_AT_name")
    if named is None:
        return None
    whole = _through(entry, "DW_AT_prototyped") is not None or _language_is_cpp(entry)
    parameters = tuple(
        (_text(_through(child, "DW_AT_name")), _type_of(child))
        for child in entry.iter_children()
        if child.tag == "DW_TAG_formal_parameter"
    )
    more = any(child.tag == "DW_TAG_unspecified_parameters" for child in entry.iter_children())
    if not whole and not parameters:
        more = True
    return Prototype(_text(named), _type_of(entry), parameters, more)


def _language_is_cpp(entry: Any) -> bool:
    language = entry.cu.get_top_DIE().attributes.get("DW_AT_language")
    return language is not None and language.value in (0x04, 0x1A, 0x21, 0x2B)


def _through(entry: Any, *names: str) -> Any:
    """The first attribute of those, of the entry or of the one that it is an instance of."""
    for _ in range(MOST_TYPES):
        for name in names:
            if name in entry.attributes:
                return entry.attributes[name].value
        origin = next((a for a in ("DW_AT_abstract_origin", "DW_AT_specification") if a in entry.attributes), None)
        if origin is None:
            return None
        entry = entry.get_DIE_from_attribute(origin)
    return None


def _referred(entry: Any) -> Any:
    """The entry of an entry's type; None for void."""
    for _ in range(MOST_TYPES):
        if "DW_AT_type" in entry.attributes:
            return entry.get_DIE_from_attribute("DW_AT_type")
        origin = next((a for a in ("DW_AT_abstract_origin", "DW_AT_specification") if a in entry.attributes), None)
        if origin is None:
            return None
        entry = entry.get_DIE_from_attribute(origin)
    return None


def _type_of(entry: Any) -> CType:
    """The type that an entry refers to."""
    referred = _referred(entry)
    words: list[str] = []
    shown = ""
    for _ in range(MOST_TYPES):
        if referred is None:
            return CType(" ".join([*words, shown or "void"]), "void", 0)
        tag = referred.tag.removeprefix("DW_TAG_")
        name = _text(referred.attributes["DW_AT_name"].value) if "DW_AT_name" in referred.attributes else ""
        if tag not in _WRAPPERS:
            return _plain(referred, tag, " ".join([*words, shown or name]))
        words += [_QUALIFIERS[tag]] if tag in _QUALIFIERS and not shown else []
        shown = shown or (name if tag == "typedef" else "")
        referred = _referred(referred)
    return CType("?", "other", 0)


def _plain(entry: Any, tag: str, text: str) -> CType:
    size = entry.attributes["DW_AT_byte_size"].value if "DW_AT_byte_size" in entry.attributes else 0
    if tag == "base_type":
        encoding = entry.attributes["DW_AT_encoding"].value
        kind: Kind = {2: "integer", 4: "float", 5: "integer", 6: "integer", 7: "integer", 8: "integer"}.get(
            encoding, "other"
        )  # type: ignore[assignment]
        return CType(text, kind, size, encoding in (5, 6))
    if tag == "enumeration_type":
        return CType(text if text.strip() else "enum", "integer", size)
    if tag in ("pointer_type", "reference_type", "rvalue_reference_type"):
        to = _type_of(entry)
        return CType(text if text.strip() else f"{to.text} *", "pointer", to.size, to.signed, to.kind)
    if tag in _STRUCTURES:
        word = "union" if tag == "union_type" else "struct"
        return CType(text if text.strip() else word, "structure", size)
    return CType(text or "?", "other", size)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace")[:200] if isinstance(value, bytes) else ""
