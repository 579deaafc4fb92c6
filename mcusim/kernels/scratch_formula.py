"""Scratch formulas of kernel sets: integer arithmetic over a few names, and nothing else.

Grammar: integers, names, ``+ - * //``, parentheses, ``min(a, b, ...)``, ``max(a, b, ...)``, comparisons (1 or 0, not
chained). Not modelled: everything that could take long or leave the formula, such as powers, attributes and other
calls.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from mcusim.errors import InputError

__all__ = ["check_formula", "evaluate"]

LONGEST = 2000
LARGEST = 1 << 40
_OPERATORS: Mapping[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., int]] = {"min": min, "max": max}


def check_formula(text: str, names: Collection[str]) -> None:
    """Raise InputError, saying what is wrong where, unless ``text`` is a formula over ``names``."""
    _value(_parsed(text), dict.fromkeys(names, 1), dry=True)


def evaluate(text: str, values: Mapping[str, int]) -> int:
    """The value of a formula. Raises InputError for a division by zero, and for a value below 0 or above 2**40."""
    found = _value(_parsed(text), values)
    if not 0 <= found <= LARGEST:
        raise InputError(f"{text!r} is {found:,}")
    return found


def _parsed(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise InputError(f"longer than {LONGEST} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{text!r} is not an integer expression") from None


def _value(node: ast.expr, values: Mapping[str, int], depth: int = 0, dry: bool = False) -> int:
    def part(inner: ast.expr) -> int:
        return _value(inner, values, depth + 1, dry)

    if depth > 50:
        raise InputError("is nested deeper than 50")
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool) and abs(number) <= LARGEST:
            return number
        case ast.Name(id=name):
            if name not in values:
                raise InputError(f"unknown name {name!r}; known: {', '.join(values)}")
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -part(inner)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _apply(sign, part(left), part(right), dry)
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _OPERATORS:
            return int(_apply(sign, part(left), part(right), dry))
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as given, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*map(part, given))
    raise InputError(f"{ast.unparse(node)[:80]!r} is not allowed in a formula: integers, names, + - * // ( ), min, max")


def _apply(sign: Any, left: int, right: int, dry: bool) -> int:
    if isinstance(sign, ast.FloorDiv) and right == 0:
        if dry:  # the names have the value 1 here
            return 0
        raise InputError("divides by zero")
    found = _OPERATORS[type(sign)](left, right)
    if abs(found) > 1 << 80:
        raise InputError("grows beyond 80 bits")
    return found
