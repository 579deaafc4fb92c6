"""Tables of the keys of a JSON: by path the type and the meaning, the page that lists them, and what they do not cover.

``a.b`` is key ``b`` of the object ``a``, ``a[]`` any item of a list, ``<region>`` any key. A type with ``?`` may be
null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ANY = "any"
Keys = Mapping[str, tuple[str, str]]
_TYPES: Mapping[str, tuple[type, ...]] = {
    "text": (str,), "integer": (int,), "number": (int, float), "bool": (bool,), "object": (dict,), "list": (list,),
}  # fmt: skip


def under(prefix: str, keys: Keys) -> dict[str, tuple[str, str]]:
    """The same as keys of the object ``prefix``, or of the items of the list ``prefix[]``."""
    return {f"{prefix}.{key}": text for key, text in keys.items()}


def key_table(keys: Keys) -> str:
    """A Markdown table with a row for each."""
    rows = [f"| `{key}` | {_cell(kind)} | {text} |" for key, (kind, text) in keys.items()]
    return "\n".join(["| key | type | meaning |", "|---|---|---|", *rows]) + "\n"


def _cell(kind: str) -> str:
    return f"{kind[:-1]} or null" if kind.endswith("?") else kind


def described(data: Any, keys: Keys) -> Iterator[tuple[str, str | None]]:
    """Each value in a JSON: its path as written there, and which of ``keys`` describes it; None where none does.
    Containers are listed where the table has them."""
    yield from _walk(keys, data, "", "")


def _walk(keys: Keys, value: Any, path: str, key: str) -> Iterator[tuple[str, str | None]]:
    if path and (key in keys or not isinstance(value, dict | list)):
        yield path, key if key in keys and _is(value, keys[key][0]) else None
    if key in keys and keys[key][0] == ANY:
        return
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from _walk(keys, item, f"{path}[{i}]", f"{key}[]")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _walk(keys, item, f"{path}.{name}".lstrip("."), _key(keys, key, name))


def _key(keys: Keys, parent: str, name: str) -> str:
    """The key of a member: its own name where the table has it, or the one that represents any name."""
    own = f"{parent}.{name}".lstrip(".")
    if any(key == own or key.startswith((f"{own}.", f"{own}[")) for key in keys):
        return own
    start = f"{parent}.<"
    any_name = next((key for key in keys if key.startswith(start)), None)
    return own if any_name is None else any_name[: any_name.index(">") + 1]


def _is(value: Any, kind: str) -> bool:
    if value is None or kind == ANY:
        return kind.endswith("?") or kind == ANY
    plain = kind.removesuffix("?")
    return isinstance(value, _TYPES[plain]) and (plain == "bool") is isinstance(value, bool)
