"""``--max-latency`` and the like, and the options of a command as they were given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mcusim.commands.shared.declare import option

if TYPE_CHECKING:
    from mcusim.run_config.run_limits import RunLimits


@dataclass(frozen=True)
class Most:
    """What a run may take."""

    max_latency: Annotated[str | None, option("TIME", 'Exit status 1 when it takes longer: "100 ms".')] = None
    max_energy: Annotated[str | None, option("ENERGY", 'Exit status 1 when it takes more: "20 mJ".')] = None
    max_sram: Annotated[str | None, option("SIZE", 'Most on-chip RAM in use, at the peak: "128 KiB".')] = None
    max_flash: Annotated[str | None, option("SIZE", 'Most flash for weights, code, runtime: "512 KiB".')] = None

    @property
    def limits(self) -> RunLimits:
        """As read. Raises UsageError."""
        from mcusim.run_config.run_limits import RunLimits

        return RunLimits.of(self.max_latency, self.max_energy, self.max_sram, self.max_flash)


def given_options(
    context: typer.Context, without: set[str], configured: bool = False
) -> dict[str, str | list[str] | bool | None]:
    """The options on the command line by their long names, but for those named ``without``; arguments are none.
    ``configured``: those that a mcusim.toml sets, too."""
    sources = ("COMMANDLINE", "DEFAULT_MAP") if configured else ("COMMANDLINE",)
    result: dict[str, str | list[str] | bool | None] = {}
    for parameter in context.command.get_params(context):
        value = context.params.get(parameter.name or "")
        long = next((name[2:] for name in parameter.opts if name.startswith("--")), None)
        source = context.get_parameter_source(parameter.name or "")
        if long is None or long in without or value is None or source is None or source.name not in sources:
            continue
        result[long] = value if isinstance(value, bool) else _texts(value)
    return result


def _texts(value: object) -> str | list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else str(value)
