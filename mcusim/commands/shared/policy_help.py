"""Help texts that name the policies there are: policies are loaded when a command's help is shown, and not before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from mcusim.commands.shared.defaults import taken
from mcusim.commands.shared.output import note

__all__ = ["PolicyHelp"]

FROM_FILE = "DEFAULT_MAP"  # what click calls it


class PolicyHelp(TyperCommand):
    """A command in whose options' help ``{policies}`` are all policies with what they do, ``{overlay}`` and the other
    policy options those that take them."""

    def invoke(self, ctx: Any) -> Any:
        """Say which options have defaults from a file, then run."""
        found = ctx.obj or {}
        sources = {option: ctx.get_parameter_source(option.replace("-", "_")) for option in found}
        for line in taken(found, [option for option, source in sources.items() if source and source.name == FROM_FILE]):
            note(line)
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill the names in, then write the help."""
        from mcusim.plan import takers
        from mcusim.plan.registry import POLICY_OPTIONS, all_policies

        names = {option: ", ".join(takers(option)) for option in POLICY_OPTIONS}
        names["policies"] = _either([f"{policy.name} ({policy.description})" for policy in all_policies()])
        options: list[Any] = [parameter for parameter in self.params if getattr(parameter, "help", None)]
        templates = [option.help for option in options]
        for option in options:
            for key, value in names.items():
                option.help = option.help.replace(f"{{{key}}}", value)
        super().format_help(ctx, formatter)
        for option, template in zip(options, templates, strict=True):
            option.help = template


def _either(texts: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
