"""Parameters that convert nothing where there is nothing to convert.

typer makes a pydantic adapter for each parameter of a command, given or not: importing pydantic and making 60 of them
costs every command, needed or not. Here a parameter that was not given keeps its default, a text stays a text, and
typer converts the rest.

Not modelled: parameters of other classes than typer's own two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from typer.core import TyperArgument, TyperOption


def light(parameters: Iterable[Any]) -> list[Any]:
    """The same parameters, which convert what they must."""
    kinds: dict[type, type] = {TyperOption: _LightOption, TyperArgument: _LightArgument}
    made = [*parameters]
    for parameter in made:
        parameter.__class__ = kinds.get(type(parameter), type(parameter))
    return made


def _is_converted(parameter: Any, context: Any, value: Any) -> bool:
    described = getattr(parameter, "type_descriptor", None)  # of older releases: none
    if described is None:
        return False
    if value is None:
        return not parameter.required
    if isinstance(value, str):
        return described.annotation is str and described.parameter_info.parser is None
    source = context.get_parameter_source(parameter.name)
    return source is not None and source.name == "DEFAULT" and not (parameter.multiple or parameter.nargs == -1)


def _finished(parameter: Any, context: Any, value: Any) -> Any:
    if value is None and (parameter.multiple or parameter.nargs == -1):
        value = ()
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


class _LightOption(TyperOption):
    def process_value(self, ctx: Any, value: Any) -> Any:
        return _finished(self, ctx, value) if _is_converted(self, ctx, value) else super().process_value(ctx, value)


class _LightArgument(TyperArgument):
    def process_value(self, ctx: Any, value: Any) -> Any:
        return _finished(self, ctx, value) if _is_converted(self, ctx, value) else super().process_value(ctx, value)
