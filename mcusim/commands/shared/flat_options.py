"""Options in groups: a dataclass is a group, its fields are options, and a command takes a few such objects.

    @grouped
    def inspect(model: options.Model, *, written: Written) -> int: ...

is to typer ``inspect(model, json=None, force=False)``: the fields in their order, groups inside groups included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from mcusim.commands.shared.policy_help import PlanFlags


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """``command`` as typer sees it: one parameter for each option of the groups that it takes."""
    hints = get_type_hints(command, include_extras=True)
    taken = [
        parameter.replace(annotation=hints[parameter.name]) for parameter in signature(command).parameters.values()
    ]

    @wraps(command)
    def flat(**given: Any) -> int:
        return command(**{parameter.name: _value(parameter.name, parameter.annotation, given) for parameter in taken})

    parameters = [option for parameter in taken for option in _options(parameter)]
    flat.takes = [group for parameter in taken for group in _takes(parameter.annotation)]  # type: ignore[attr-defined]
    flat.__signature__ = Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
    flat.__annotations__ = {option.name: option.annotation for option in parameters} | {"return": int}
    return flat


def _takes(kind: Any) -> list[type[PlanFlags]]:
    """The groups of declared options in ``kind``, which the command then adds itself."""
    if _is_given(kind):
        return [kind]
    return [group for hint in get_type_hints(kind).values() for group in _takes(hint)] if is_dataclass(kind) else []


def _is_given(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, PlanFlags)


def _options(parameter: Parameter) -> Iterator[Parameter]:
    """The parameter, or one for each field of its group; by keyword, so that defaults may come first."""
    if _is_given(parameter.annotation):
        return
    if not is_dataclass(parameter.annotation):
        yield parameter.replace(kind=Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(parameter.annotation, include_extras=True)
    for option in fields(parameter.annotation):
        default = Parameter.empty if option.default is MISSING else option.default
        yield from _options(
            Parameter(option.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[option.name])
        )


def _value(name: str, kind: Any, given: Mapping[str, Any]) -> Any:
    """What was given for an option, or the group made of what was given for its fields."""
    if _is_given(kind):
        return kind.now()
    if not is_dataclass(kind):
        return given[name]
    hints = get_type_hints(kind, include_extras=True)
    make: Callable[..., Any] = kind  # type: ignore[assignment]
    return make(**{option.name: _value(option.name, hints[option.name], given) for option in fields(kind)})
