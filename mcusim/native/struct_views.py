"""Structs in native functions: a struct is the address of its first word, a field a load or store at a constant offset.

Python hands a root over as its array, others as objects of their class. Native code makes one of an address too:
``Sdram(address)``.

Not modelled: structs in containers of numba's.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
    lower_setattr_generic,
    models,
    register_model,
    type_callable,
    typeof_impl,
    unbox,
)

from mcusim.native.structs import STRUCTS, Struct, StructField, Words, address_of, words_between
from mcusim.native.words import ARRAY, INT64_WORDS, SAFE, Int64Words, array_data

# numba's own functions are untyped
_attributes: Any = AttributeTemplate
_model: Any = models.PrimitiveModel
_native_value: Any = NativeValue
I64 = ir.IntType(64)
_views: dict[type[Struct], View] = {}


def view_of(kind: type[Struct]) -> View:
    """The native type of a struct."""
    if kind not in _views:
        _views[kind] = View(kind)
    return _views[kind]


class View(types.Type):
    """The address of a struct's first word."""

    def __init__(self, kind: type[Struct]) -> None:
        self.kind = kind
        super().__init__(name=f"struct.{kind.__module__}.{kind.__qualname__}")

    def __reduce__(self) -> Any:
        return view_of, (self.kind,)

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """An array, or words, are a safe argument where a root is wanted."""
        return SAFE if self.kind.ROOT and other in (ARRAY, INT64_WORDS) else None

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        """A struct is a safe argument where words are wanted."""
        return SAFE if other == INT64_WORDS else None


class SeveralViews(types.Type):
    """The address of the first of several structs."""

    def __init__(self, kind: type[Struct]) -> None:
        self.kind = kind
        super().__init__(name=f"structs.{kind.__module__}.{kind.__qualname__}")

    def __reduce__(self) -> Any:
        return SeveralViews, (self.kind,)


def _type_of(field: StructField) -> Any:
    if field.kind is None:
        return types.int64 if field.single and not field.pointer else INT64_WORDS
    return view_of(field.kind) if field.single else SeveralViews(field.kind)


class _Fields(_attributes):  # type: ignore[misc]
    """numba's hook in type inference: what a field is."""

    key = View

    def generic_resolve(self, view: Any, name: str) -> Any:
        """The type of the field ``name``, None where there is none."""
        field = view.kind.FIELDS.get(name)
        return None if field is None else _type_of(field)


def _behind(builder: Any, pointer: Any, words: int) -> Any:
    return builder.gep(pointer, [ir.Constant(I64, words)])


def _load(context: Any, builder: Any, view: Any, pointer: Any, name: str) -> Any:
    field = view.kind.FIELDS[name]
    start = _behind(builder, pointer, field.offset)
    if field.pointer:
        return builder.inttoptr(builder.load(start), I64.as_pointer())
    return builder.load(start) if field.single and field.kind is None else start


def _store(context: Any, builder: Any, signature: Any, arguments: Any, name: str) -> None:
    word = context.cast(builder, arguments[1], signature.args[1], types.int64)
    builder.store(word, _behind(builder, arguments[0], signature.args[0].kind.FIELDS[name].offset))


def _item(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    words = builder.mul(arguments[1], ir.Constant(I64, signature.args[0].kind.WORDS))
    return builder.gep(arguments[0], [words])


def _made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.gep(arguments[0], [arguments[1]])


def _unbox(view: Any, obj: Any, c: Any) -> Any:
    """The address of a struct that Python hands over; an error, as Python's, for what is none."""
    if view.kind.ROOT:  # or the array that it begins
        return c.unbox(INT64_WORDS, obj)
    builder, null = c.builder, c.pyapi.get_null_object()
    start, wrong = builder.alloca(I64.as_pointer()), builder.alloca(ir.IntType(1))
    builder.store(ir.Constant(ir.IntType(1), 1), wrong)
    whole = c.pyapi.object_getattr_string(obj, "array")
    with builder.if_then(builder.icmp_unsigned("!=", whole, null), likely=True):
        offset = c.pyapi.object_getattr_string(obj, "offset")
        with builder.if_then(builder.icmp_unsigned("!=", offset, null), likely=True):
            words, first = c.unbox(INT64_WORDS, whole), c.unbox(types.int64, offset)
            builder.store(builder.gep(words.value, [first.value]), start)
            builder.store(builder.or_(words.is_error, first.is_error), wrong)
            c.pyapi.decref(offset)
        c.pyapi.decref(whole)  # the caller holds the struct, which holds its array, while the function runs
    return _native_value(builder.load(start), is_error=builder.load(wrong))


def _between(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    begin, end = (builder.ptrtoint(pointer, I64) for pointer in arguments)
    return builder.ashr(builder.sub(end, begin), ir.Constant(I64, 3))


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.ptrtoint(arguments[0], I64)


def _from_address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.inttoptr(arguments[0], I64.as_pointer())


def _is_set(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.icmp_unsigned("!=", builder.ptrtoint(arguments[0], I64), ir.Constant(I64, 0))


def _as_is(context: Any, builder: Any, from_type: Any, to_type: Any, value: Any) -> Any:
    return value


_hook: Any = register_model
for _kind in (View, SeveralViews):
    _hook(_kind)(lambda manager, kind: _model(manager, kind, I64.as_pointer()))
_hook = infer_getattr
_hook(_Fields)
_hook = lower_getattr_generic
_hook(View)(_load)
_hook = lower_setattr_generic
_hook(View)(_store)
_hook = lower_builtin
_hook(operator.getitem, SeveralViews, types.Integer)(_item)
_hook(words_between, types.Any, types.Any)(_between)
_hook(address_of, types.Any)(_address)
_hook(bool, View)(_is_set)
_hook(bool, Int64Words)(_is_set)
_hook = lower_cast
_hook(View, Int64Words)(_as_is)
_hook(Int64Words, View)(_as_is)
_hook(types.Array, View)(array_data)
_hook = unbox
_hook(View)(_unbox)
_hook = typeof_impl
_hook.register(Struct)(lambda struct, context: view_of(type(struct)))


@type_callable(operator.getitem)
def _type_item(context: Any) -> Any:
    def typer(several: Any, index: Any) -> Any:
        if isinstance(several, SeveralViews) and isinstance(index, types.Integer):
            return view_of(several.kind)(several, types.int64)
        return None

    return typer


@type_callable(words_between)
def _type_between(context: Any) -> Any:
    return lambda begin, end: types.int64


@type_callable(address_of)
def _type_address(context: Any) -> Any:
    return lambda start: types.int64 if isinstance(start, View | Int64Words) else None


@type_callable(bool)
def _type_is_set(context: Any) -> Any:
    return lambda start: types.boolean if isinstance(start, View | Int64Words) else None


_known: set[type[Struct]] = set()


def register() -> None:
    """Let native functions make words, and every struct that was declared."""
    if not _known:
        _register(Words, INT64_WORDS)
    for kind in STRUCTS:
        if kind not in _known:
            _known.add(kind)
            _register(kind, view_of(kind))


def _register(kind: type[Struct | Words], view: Any) -> None:
    def typer(start: Any, offset: Any = None) -> Any:
        if isinstance(start, types.Integer) and offset is None:
            return view(types.int64)  # an address
        if not isinstance(start, View | Int64Words):
            return None
        return view(start) if offset is None else view(start, types.int64)

    hook: Any = type_callable(kind)
    hook(lambda context: typer)
    hook = lower_builtin
    for start in (View, Int64Words):
        hook(kind, start)(lambda context, builder, signature, arguments: arguments[0])
        hook(kind, start, types.Integer)(_made)
    hook(kind, types.Integer)(_from_address)
