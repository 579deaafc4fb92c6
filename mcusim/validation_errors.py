"""What pydantic says of a document that breaks a rule, in the words of this package's files."""

from __future__ import annotations

from typing import Any

_TYPES = {  # pydantic's kinds of errors, and what TOML and JSON call these types
    "dict_type": "a table", "model_type": "a table", "model_attributes_type": "a table", "tuple_type": "a list",
    "list_type": "a list", "string_type": "a text", "int_type": "a whole number", "float_type": "a number",
    "bool_type": "true or false",
}  # fmt: skip


def rule_of(error: Any) -> str:
    """The rule that was broken, of one of ``ValidationError.errors()``."""
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "unknown key"
    if kind in ("too_short", "too_long") and "field_type" in context:
        least = kind == "too_short"
        return f"must have at {'least' if least else 'most'} {context['min_length' if least else 'max_length']}"
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}"
    message = str(context["error"]) if kind == "value_error" else str(error["msg"])
    return (message[:1].lower() + message[1:]).replace("input should be", "must be").replace("input should", "must")
