"""``INT64_WORDS``: the numba type of a state array in native functions.

An array of numba is seven words in every call, and every index may count from the end when it is negative. A state
array is passed on as its address alone and indexed from its first word only; what that saves is most of a call's cost.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import typeconv
from numba.core.datamodel import models
from numba.core.typing import templates
from numba.extending import NativeValue, lower_builtin, lower_cast, register_model, unbox
from numba.np.arrayobj import make_array

# numba's own functions are untyped
_typed: Any = templates.signature
_array: Any = make_array
_native_value: Any = NativeValue
_typeconv: Any = typeconv
SAFE: Any = _typeconv.Conversion.safe
"""What numba is told of an argument that may be handed over as another type."""
_primitive: Any = models.PrimitiveModel


class Int64Words(types.Type):
    """The address of contiguous int64 words, indexed from the first; numpy arrays of that kind turn into one."""

    def __init__(self) -> None:
        super().__init__(name="words")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """An array is a safe argument where words are wanted."""
        return SAFE if other == ARRAY else None


INT64_WORDS = Int64Words()
ARRAY: Any = types.Array(types.int64, 1, "C")


class _Get(templates.AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], Int64Words) and isinstance(args[1], types.Integer):
            return _typed(types.int64, args[0], types.int64)
        return None


class _Set(templates.AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], Int64Words) and isinstance(args[1], types.Integer):
            return _typed(types.void, args[0], types.int64, types.int64)
        return None


def _load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.load(builder.gep(arguments[0], [arguments[1]]))


def _store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.store(arguments[2], builder.gep(arguments[0], [arguments[1]]))
    return context.get_dummy_value()


def array_data(context: Any, builder: Any, from_type: Any, to_type: Any, value: Any) -> Any:
    """The address of an array's first word."""
    return _array(ARRAY)(context, builder, value).data


def _unbox(words: Any, obj: Any, c: Any) -> Any:
    """An array, or words or a struct in one; whoever calls holds it while the function runs."""
    builder, null, word = c.builder, c.pyapi.get_null_object(), ir.IntType(64)
    holder = c.pyapi.object_getattr_string(obj, "array")
    is_array = builder.icmp_unsigned("==", holder, null)
    offset, wrong = builder.alloca(word), builder.alloca(ir.IntType(1))
    builder.store(ir.Constant(word, 0), offset)
    builder.store(ir.Constant(ir.IntType(1), 0), wrong)
    with builder.if_else(is_array) as (plain, inside):
        with plain:
            c.pyapi.err_clear()
        with inside:
            first = c.pyapi.object_getattr_string(obj, "offset")
            number = c.unbox(types.int64, first)
            builder.store(number.value, offset)
            builder.store(number.is_error, wrong)
            c.pyapi.decref(first)
    array = c.unbox(ARRAY, builder.select(is_array, obj, holder))
    with builder.if_then(builder.not_(is_array)):
        c.pyapi.decref(holder)
    data = _array(ARRAY)(c.context, builder, array.value).data
    error = builder.or_(array.is_error, builder.load(wrong))
    return _native_value(builder.gep(data, [builder.load(offset)]), is_error=error, cleanup=array.cleanup)


_any: Any = register_model
_any(Int64Words)(lambda manager, kind: _primitive(manager, kind, ir.IntType(64).as_pointer()))
_any = templates.infer_global
_any(operator.getitem)(_Get)
_any(operator.setitem)(_Set)
_any = lower_builtin
_any(operator.getitem, Int64Words, types.Integer)(_load)
_any(operator.setitem, Int64Words, types.Integer, types.Any)(_store)
_any = lower_cast
_any(types.Array, Int64Words)(array_data)
_any = unbox
_any(Int64Words)(_unbox)
