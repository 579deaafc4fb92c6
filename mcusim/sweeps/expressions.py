"""Filters and derived columns: arithmetic and comparisons over columns, such as ``energy_mj * latency_ms``.

An expression is read as Python's grammar and computed here, node by node; nothing else of Python is in it. A column is
its name, dots included (``memory.sdram.timing.tRCD``), or ``column("a name")``. There are ``+ - * / // % **``, the
comparisons, ``in`` a list, ``and or not``, ``a if b else c``, and the functions of :data:`FUNCTIONS`.

A text with a unit is a number where one is needed: ``core.clock < "200 MHz"``, ``core.clock / 1e6``. ``none`` is a
missing value; arithmetic with it is none, a comparison with it (but for ``==`` and ``!=``) too. So is what cannot be
computed: a division by zero, the logarithm of a negative number.

Not modelled: functions over several rows (a mean, a ratio to a baseline); pandas has those.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from mcusim.errors import UsageError
from mcusim.units import magnitude, quoted

Value = str | int | float | bool | None
LONGEST = 500
DEEPEST = 40
LARGEST = 1e300

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
}
_CONSTANTS = {"true": True, "false": False, "none": None}
_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_ORDER: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression; ``names`` are the columns it reads, ``place`` is where it is written, for errors."""

    text: str
    tree: ast.expr
    names: frozenset[str]
    place: str = ""

    def __call__(self, row: Mapping[str, Value]) -> Value:
        """Its value for the columns of ``row``. Raises UsageError for a text where a number is needed."""
        value = _value(self.tree, row)
        return None if isinstance(value, float) and not math.isfinite(value) else value


def parse(text: str, known: Collection[str]) -> Expression:
    """The expression ``text`` over the columns ``known``. Raises UsageError that says what is not understood."""
    if len(text) > LONGEST:
        raise UsageError(f"is longer than {LONGEST} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what Python thinks of "\\d", or of 1 is 1
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError("is not an expression") from None
    names: set[str] = set()
    _check(tree, names, 0)
    for name in sorted(names):
        if name not in known:
            close = get_close_matches(name, known, n=1)
            raise UsageError(f"no column {quoted(name)}" + (f', did you mean "{close[0]}"' if close else ""))
    return Expression(text, tree, frozenset(names))


def _check(node: ast.expr, names: set[str], depth: int) -> None:
    """Refuse every node that :func:`_value` does not know; collect the columns."""
    if depth > DEEPEST:
        raise UsageError("is nested too deep")
    below: list[ast.expr] = []
    match node:
        case ast.Name() | ast.Attribute():
            name = _name(node)
            if name not in _CONSTANTS:
                names.add(name)
        case ast.Constant(value=str() | bool() | int() | float() as value):
            if isinstance(value, int | float) and not abs(value) < LARGEST:
                raise UsageError("has a number that is too large")
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            below = [left, right]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            below = [operand]
        case ast.BoolOp(values=values):
            below = values
        case ast.IfExp(test=test, body=body, orelse=orelse):
            below = [test, body, orelse]
        case ast.Compare(left=left, ops=ops, comparators=right):
            below = [left, *_compared(ops, right)]
        case ast.Call():
            below = _arguments(node, names)
        case _:
            raise UsageError(f"has something that cannot be in an expression: {quoted(_source(node))}")
    for item in below:
        _check(item, names, depth + 1)


def _source(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return "..."


def _name(node: ast.expr) -> str:
    """``a.b.c``; a column's name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    raise UsageError(f"has something that is not a column: {quoted(_source(node))}")


def _compared(ops: list[ast.cmpop], right: list[ast.expr]) -> list[ast.expr]:
    nodes = []
    for op, node in zip(ops, right, strict=True):
        if isinstance(op, ast.In | ast.NotIn):
            if not isinstance(node, ast.List | ast.Tuple):
                raise UsageError('"in" needs a list of values')
            nodes += node.elts
        elif type(op) in _ORDER or isinstance(op, ast.Eq | ast.NotEq):
            nodes.append(node)
        else:
            raise UsageError('compares with "is"; write ==')
    return nodes


def _arguments(call: ast.Call, names: set[str]) -> list[ast.expr]:
    """The arguments of a function; ``column("x")`` is a column."""
    function = call.func.id if isinstance(call.func, ast.Name) else ""
    if call.keywords or any(isinstance(arg, ast.Starred) for arg in call.args):
        raise UsageError(f"calls {quoted(function)} with named or starred arguments")
    if function == "column":
        match call.args:
            case [ast.Constant(value=str() as name)]:
                names.add(name)
                return []
        raise UsageError("column() needs the name of one column in quotes")
    if function not in FUNCTIONS:
        raise UsageError(f"calls {quoted(_source(call.func))}; there are column, {', '.join(FUNCTIONS)}")
    count = len(call.args)
    several = function in ("min", "max")
    if not (count >= 2 if several else count == 1):
        wanted = "two numbers or more" if several else "one number"
        raise UsageError(f"{function}() takes {wanted}, not {count}" + (": it is of one point" if several else ""))
    return call.args


def _value(node: ast.expr, row: Mapping[str, Value]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name() | ast.Attribute():
            name = _name(node)
            return _CONSTANTS[name] if name in _CONSTANTS else row[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _computed(_BINARY[type(op)], [_value(left, row), _value(right, row)])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = _value(operand, row)
            return None if value is None else not value
        case ast.UnaryOp(op=op, operand=operand):
            sign = operator.neg if isinstance(op, ast.USub) else operator.pos
            return _computed(sign, [_value(operand, row)])
        case ast.BoolOp(op=op, values=values):
            return _all(values, row) if isinstance(op, ast.And) else _any(values, row)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, row) else orelse, row)
        case ast.Compare():
            return _compare(node, row)
        case ast.Call(func=ast.Name(id="column"), args=[ast.Constant(value=name)]):
            return row[str(name)]
        case ast.Call(func=ast.Name(id=function), args=arguments):
            return _computed(FUNCTIONS[function], [_value(argument, row) for argument in arguments])
    raise AssertionError(f"unchecked {node}")


def _all(values: list[ast.expr], row: Mapping[str, Value]) -> bool | None:
    items = [_value(value, row) for value in values]
    return False if any(item is not None and not item for item in items) else None if None in items else True


def _any(values: list[ast.expr], row: Mapping[str, Value]) -> bool | None:
    items = [_value(value, row) for value in values]
    return True if any(items) else None if None in items else False


def _number(value: Any) -> int | float:
    """``value`` where a number is needed."""
    if not isinstance(value, str):
        return value  # type: ignore[no-any-return]
    pair = magnitude(value)
    if pair is None:
        raise UsageError(f"{quoted(value)} is not a number or a quantity")
    return float(pair[0])


def _computed(function: Callable[..., Any], values: list[Any]) -> Any:
    """``function`` of ``values`` as numbers; None when one is missing, or there is no such number."""
    if any(value is None for value in values):
        return None
    numbers = [_number(value) for value in values]
    if function is operator.pow:
        numbers = [float(n) for n in numbers]
    try:
        result = function(*numbers)
    except (ArithmeticError, ValueError):
        return None
    return result if isinstance(result, int | float) and abs(result) < LARGEST else None


def _compare(node: ast.Compare, row: Mapping[str, Value]) -> bool | None:
    left, result = _value(node.left, row), True
    for op, right in zip(node.ops, node.comparators, strict=True):
        if isinstance(op, ast.In | ast.NotIn):
            assert isinstance(right, ast.List | ast.Tuple)
            found = any(_equal(left, _value(elt, row)) for elt in right.elts)
            result = result and found is isinstance(op, ast.In)
            continue
        value = _value(right, row)
        if isinstance(op, ast.Eq | ast.NotEq):
            result = result and _equal(left, value) is isinstance(op, ast.Eq)
        elif left is None or value is None:
            return None
        else:
            result = result and _ORDER[type(op)](*_alike(left, value))
        left = value
    return result


def _equal(left: Value, right: Value) -> bool:
    """Equal texts, or equal quantities however they are written."""
    if left is None or right is None or left == right:
        return left is right or left == right
    a, b = ((magnitude(item) if isinstance(item, str) else None) for item in (left, right))
    if isinstance(left, str) and isinstance(right, str):
        return a is not None and a == b
    if a is not None or b is not None:
        return (a[0] if a else left) == (b[0] if b else right)
    return False


def _alike(left: Any, right: Any) -> tuple[int | float, int | float]:
    """Both as numbers. Raises UsageError for texts of different units."""
    if isinstance(left, str) and isinstance(right, str):
        a, b = magnitude(left), magnitude(right)
        if a is not None and b is not None and a[1] != b[1]:
            raise UsageError(f"compares {quoted(left)} with {quoted(right)}, which has another unit")
    return _number(left), _number(right)
