"""Options in groups: typer sees one option for each field, the command gets one object for each group."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any

import pytest
import typer

from mcusim.commands.command_table import Commands, function_of
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Planning, Values, Written
from mcusim.commands.shared.policy_help import PlanFlags
from mcusim.errors import UsageError
from mcusim.plan.policies.tinyops import OVERLAY


@dataclass(frozen=True)
class Inner:
    depth: Annotated[int, typer.Option("--depth", min=0)] = 3


@dataclass(frozen=True, kw_only=True)
class Outer:
    """A group in a group, between two options; the first must be given."""

    name: Annotated[str, typer.Option("--name")]
    inner: Inner
    last: Annotated[bool, typer.Option("--last")] = False


seen: list[Any] = []


@grouped
def command(what: Annotated[str, typer.Argument(metavar="WHAT")], *, first: int = 1, outer: Outer) -> int:
    """Do it."""
    seen.append((what, first, outer))
    return 0


def invoke(*words: str) -> Any:
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    made.command()(command)
    made(args=list(words), standalone_mode=False)
    return seen.pop()


def test_fields_are_options_in_their_order() -> None:
    assert list(signature(command).parameters) == ["what", "first", "name", "depth", "last"]
    assert command.__doc__ == "Do it."


def test_the_command_gets_objects() -> None:
    assert invoke("x", "--name", "n") == ("x", 1, Outer(name="n", inner=Inner(3), last=False))
    given = invoke("x", "--last", "--depth", "7", "--name", "n", "--first", "2")
    assert given == ("x", 2, Outer(name="n", inner=Inner(7), last=True))


@pytest.mark.parametrize(("words", "text"), [(("x",), "name"), (("x", "--name", "n", "--depth", "-1"), "0")])
def test_what_typer_refuses_it_refuses(words: tuple[str, ...], text: str) -> None:
    with pytest.raises(Exception, match=text) as raised:
        invoke(*words)
    assert type(raised.value).__module__.split(".")[0] in ("click", "typer")


def test_an_option_in_two_groups_is_an_error_at_once() -> None:
    def twice(written: Written, again: Written) -> int:
        return 0

    with pytest.raises(ValueError, match="duplicate parameter name: 'json'"):
        grouped(twice)


def test_a_group_reads_its_texts() -> None:
    planning = Planning(MachineKeys(["core.clock = 200 MHz"]), PlanFlags(overlay="input, bias,input"))
    assert planning.overrides == {"core.clock": "200 MHz"}
    assert planning.settings("tinyops", None).options[OVERLAY] == {"input", "bias"}
    with pytest.raises(UsageError, match="--overlay has no names in it"):
        Planning(given=PlanFlags(overlay=" , ")).settings("tinyops", None)
    assert Values(input=[]).max_instructions is None


def test_no_command_takes_more_than_fifteen_parameters_by_hand() -> None:
    counts = {}
    for name in Commands():
        function = function_of(name)
        counts[name] = len(signature(getattr(function, "__wrapped__", function)).parameters)
    assert {name: count for name, count in counts.items() if count > 15} == {}
    assert counts["run"] == 12 and len(signature(function_of("run")).parameters) == 31
