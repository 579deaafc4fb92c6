"""Native functions' types as numba sees them, while the library is built: words and structs are addresses, a field is a
load or store at a constant offset, another native function a symbol.

Native code makes a struct of an address too: ``Sdram(address)``.

Not modelled: structs in containers of numba's.
"""

from __future__ import annotations

import ctypes
import operator
from typing import Any, cast

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import (
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
)

from mcusim.native import host_memory
from mcusim.native.declarations import Callback, External, Kind, NativeFunction
from mcusim.native.structs import STRUCTS, Struct, StructField, Words, address_of, words_between

# numba's own functions are untyped
_model: Any = models.PrimitiveModel
I64 = ir.IntType(64)
_C_TYPES: dict[Any, Any] = {
    None: types.void,
    ctypes.c_void_p: types.voidptr,
    ctypes.c_int32: types.int32,
    ctypes.c_uint32: types.uint32,
    ctypes.c_int64: types.int64,
    ctypes.c_uint64: types.uint64,
    ctypes.c_bool: types.boolean,
}


class WordsType(types.Type):
    """The address of int64 words, indexed from the first."""

    def __init__(self) -> None:
        super().__init__(name="words")


class View(types.Record):
    """The address of a struct's first word. numba lets a record have fields, which are typed by ``typeof``."""

    def __init__(self, kind: type[Struct]) -> None:
        super().__init__([], 0, True)
        self.kind = kind
        self.name = f"struct.{kind.__module__}.{kind.__qualname__}"

    def __len__(self) -> int:
        return len(self.kind.FIELDS)

    def typeof(self, key: str) -> Any:
        """The type of the field ``key``. Raises AttributeError for one that is not there."""
        if key not in self.kind.FIELDS:
            raise AttributeError(f"{self.kind.__name__} has no field {key!r}")
        return _field_type(self.kind.FIELDS[key])

    def can_convert_to(self, typingctx: Any, other: Any) -> None:
        """To nothing else."""


class SeveralViews(types.Type):
    """The address of the first of several structs."""

    def __init__(self, kind: type[Struct]) -> None:
        self.kind = kind
        super().__init__(name=f"structs.{kind.__module__}.{kind.__qualname__}")


WORDS = WordsType()
ADDRESSES = WordsType, View


_views: dict[Any, View] = {}


def type_of(kind: Kind) -> Any:
    """The native type of an annotation."""
    if kind is Words:
        return WORDS
    if kind is None or kind is int:
        return types.void if kind is None else types.int64
    if kind not in _views:
        _views[kind] = View(cast(type[Struct], kind))
    return _views[kind]


def _c_type(kind: Any) -> Any:
    return _C_TYPES[kind] if kind in _C_TYPES else type_of(kind)


def external(function: NativeFunction | External) -> Any:
    """A function as its callers see it: a symbol of a signature. numba wants an address for it; none is called."""
    if isinstance(function, NativeFunction):
        described = signature_of(function)
    else:
        described = _c_type(function.result)(*map(_c_type, function.parameters))
    llvm.add_symbol(function.symbol, 8)
    return types.ExternalFunction(function.symbol, described)


def signature_of(function: NativeFunction | Callback) -> Any:
    """numba's signature."""
    if isinstance(function, Callback):
        return _C_TYPES[function.result](*(_C_TYPES[kind] for kind in function.parameters))
    return type_of(function.signature.result)(*map(type_of, function.signature.parameters))


def _field_type(field: StructField) -> Any:
    if field.kind is None:
        return types.int64 if field.single and not field.pointer else WORDS
    return type_of(field.kind) if field.single else SeveralViews(field.kind)


def _behind(builder: Any, pointer: Any, words: int) -> Any:
    return builder.gep(pointer, [ir.Constant(I64, words)])


def _load(context: Any, builder: Any, view: Any, pointer: Any, name: str) -> Any:
    field = view.kind.FIELDS[name]
    start = _behind(builder, pointer, field.offset)
    if field.pointer:
        return builder.inttoptr(builder.load(start), I64.as_pointer())
    return builder.load(start) if field.single and field.kind is None else start


def _store(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    field = signature.args[0].kind.FIELDS[name]
    if field.pointer:
        word = builder.ptrtoint(arguments[1], I64)
    else:
        word = context.cast(builder, arguments[1], signature.args[1], types.int64)
    builder.store(word, _behind(builder, arguments[0], field.offset))


def _get_word(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.load(builder.gep(arguments[0], [arguments[1]]))


def _set_word(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.store(arguments[2], builder.gep(arguments[0], [arguments[1]]))
    return context.get_dummy_value()


def _item(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    words = builder.mul(arguments[1], ir.Constant(I64, signature.args[0].kind.WORDS))
    return builder.gep(arguments[0], [words])


def _made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.gep(arguments[0], [arguments[1]])


def _between(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    begin, end = (builder.ptrtoint(pointer, I64) for pointer in arguments)
    return builder.ashr(builder.sub(end, begin), ir.Constant(I64, 3))


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.ptrtoint(arguments[0], I64)


def _from_address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.inttoptr(arguments[0], I64.as_pointer())


def _is_set(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.icmp_unsigned("!=", builder.ptrtoint(arguments[0], I64), ir.Constant(I64, 0))


def _getter(bits: int) -> Any:
    def get(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
        value = builder.load(place, align=1)
        return value if bits == 64 else builder.zext(value, I64)

    return get


def _putter(bits: int) -> Any:
    def put(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
        part = arguments[1] if bits == 64 else builder.trunc(arguments[1], ir.IntType(bits))
        builder.store(part, place, align=1)
        return context.get_dummy_value()

    return put


def _copy(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    byte = ir.IntType(8).as_pointer()
    target, source = (builder.inttoptr(address, byte) for address in arguments[:2])
    copy = builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, I64])
    builder.call(copy, [target, source, arguments[2], ir.Constant(ir.IntType(1), 0)])
    return context.get_dummy_value()


def _typed(function: Any, typer: Any) -> None:
    hook: Any = type_callable(function)
    hook(lambda context: typer)


def _type_get(several: Any, index: Any) -> Any:
    if not isinstance(index, types.Integer):
        return None
    if isinstance(several, WordsType):
        return types.int64(several, types.int64)
    return type_of(several.kind)(several, types.int64) if isinstance(several, SeveralViews) else None


def _type_set(words: Any, index: Any, word: Any) -> Any:
    if isinstance(words, WordsType) and isinstance(index, types.Integer):
        return types.void(words, types.int64, types.int64)
    return None


def _register_types() -> None:
    hook: Any = register_model
    for kind in (WordsType, View, SeveralViews):
        hook(kind)(lambda manager, kind: _model(manager, kind, I64.as_pointer()))
    hook = lower_getattr_generic
    hook(View)(_load)
    hook = lower_setattr_generic
    hook(View)(_store)
    hook = typeof_impl
    for callee in (NativeFunction, External):
        hook.register(callee)(lambda function, context: external(function))


def _register_operations() -> None:
    hook: Any = lower_builtin
    _typed(operator.getitem, _type_get)
    _typed(operator.setitem, _type_set)
    hook(operator.getitem, WordsType, types.Integer)(_get_word)
    hook(operator.setitem, WordsType, types.Integer, types.Any)(_set_word)
    hook(operator.getitem, SeveralViews, types.Integer)(_item)
    _typed(words_between, lambda begin, end: types.int64)
    hook(words_between, types.Any, types.Any)(_between)
    _typed(address_of, lambda start: types.int64 if isinstance(start, ADDRESSES) else None)
    hook(address_of, types.Any)(_address)
    _typed(bool, lambda start: types.boolean if isinstance(start, ADDRESSES) else None)
    for kind in ADDRESSES:
        hook(bool, kind)(_is_set)


def _register_host_memory() -> None:
    hook: Any = lower_builtin
    word: Any = types.int64
    for bits in (8, 16, 32, 64):
        get, put = getattr(host_memory, f"get{bits}"), getattr(host_memory, f"put{bits}")
        _typed(get, lambda address: word(word))
        _typed(put, lambda address, value: types.void(word, word))
        hook(get, types.Integer)(_getter(bits))
        hook(put, types.Integer, types.Integer)(_putter(bits))
    _typed(host_memory.copy, lambda target, source, size: types.void(word, word, word))
    hook(host_memory.copy, types.Integer, types.Integer, types.Integer)(_copy)


_known: set[type[Struct | Words]] = set()


def register() -> None:
    """Let native functions make words, and every struct that was declared."""
    if not _known:
        _register_types()
        _register_operations()
        _register_host_memory()
    kinds: list[type[Struct | Words]] = [Words, *STRUCTS]
    for kind in kinds:
        if kind not in _known:
            _known.add(kind)
            _register_class(kind, type_of(kind))


def _register_class(kind: type[Struct | Words], made: Any) -> None:
    def typer(start: Any, offset: Any = None) -> Any:
        if isinstance(start, types.Integer) and offset is None:
            return made(types.int64)  # an address
        if not isinstance(start, ADDRESSES):
            return None
        return made(start) if offset is None else made(start, types.int64)

    _typed(kind, typer)
    hook: Any = lower_builtin
    for start in ADDRESSES:
        hook(kind, start)(lambda context, builder, signature, arguments: arguments[0])
        hook(kind, start, types.Integer)(_made)
    hook(kind, types.Integer)(_from_address)
