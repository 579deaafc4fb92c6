"""Scratch formulas of kernel sets: integer arithmetic over a few names, and nothing else.

Grammar: integers, names, ``+ - * //``, parentheses, ``min(a, b, ...)``, ``max(a, b, ...)``, comparisons (1 or 0, not
chained). Not modelled: everything that could take long or leave the formula, such as powers, attributes and other
calls.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

from mcusim.errors import InputError

LONGEST = 16_000
LARGEST = 1 << 40
_OPERATORS: Mapping[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., int]] = {"min": min, "max": max}


Values = Mapping[str, int]
Formula = Callable[
    [Values, bool], int
]  # of the names' values; whether they stand for any, so that none divides by zero


def check_formula(text: str, names: Collection[str]) -> None:
    """Raise InputError, saying what is wrong where, unless ``text`` is a formula over ``names``."""
    _compiled(text)(dict.fromkeys(names, 1), True)


def evaluate(text: str, values: Values) -> int:
    """The value of a formula. Raises InputError for a division by zero, and for a value below 0 or above 2**40."""
    result = _compiled(text)(values, False)
    if not 0 <= result <= LARGEST:
        raise InputError(f"{text!r} is {result:,}")
    return result


@lru_cache(maxsize=4096)
def _compiled(text: str) -> Formula:
    """The formula as nested functions: a template's are evaluated thousands of times."""
    if len(text) > LONGEST:
        raise InputError(f"longer than {LONGEST} characters")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{text!r} is not an integer expression") from None
    return _function(node)


def _function(node: ast.expr, depth: int = 0) -> Formula:
    if depth > 50:
        raise InputError("is nested deeper than 50")
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool) and abs(number) <= LARGEST:
            return lambda values, dry: number
        case ast.Name(id=name):
            return lambda values, dry: _named(name, values)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            operand = _function(inner, depth + 1)
            return lambda values, dry: -operand(values, dry)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _applied(type(sign), _function(left, depth + 1), _function(right, depth + 1))
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _OPERATORS:
            return _applied(type(sign), _function(left, depth + 1), _function(right, depth + 1))
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as nodes, keywords=[]) if name in _FUNCTIONS:
            parts, function = [_function(inner, depth + 1) for inner in nodes], _FUNCTIONS[name]
            return lambda values, dry: function(*(part(values, dry) for part in parts))
    raise InputError(f"{ast.unparse(node)[:80]!r} is not allowed in a formula: integers, names, + - * // ( ), min, max")


def _named(name: str, values: Values) -> int:
    if name not in values:
        raise InputError(f"unknown name {name!r}; known: {', '.join(values)}")
    return values[name]


def _applied(sign: type[ast.AST], left: Formula, right: Formula) -> Formula:
    apply, divides = _OPERATORS[sign], sign is ast.FloorDiv

    def applied(values: Values, dry: bool) -> int:
        divisor = right(values, dry)
        if divides and divisor == 0:
            if dry:  # the names have the value 1 here
                return 0
            raise InputError("divides by zero")
        applied = int(apply(left(values, dry), divisor))
        if abs(applied) > 1 << 80:
            raise InputError("grows beyond 80 bits")
        return applied

    return applied
