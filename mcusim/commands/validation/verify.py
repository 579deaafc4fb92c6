"""``mcusim verify``: its options, and the program that it checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Planning, Written
from mcusim.commands.shared.output import Output, fail
from mcusim.commands.shared.progress import bar, bar_of_steps, counting
from mcusim.errors import UsageError

if TYPE_CHECKING:
    from mcusim.api.verify import VerifyRequest

_MOST_SEEDS = 100_000
_MACHINE = "stm32f746g-disco"  # of a firmware

What = Annotated[
    str,
    argument(
        "PROGRAM|MODEL|FIRMWARE",
        "A program (.jsonl), a model to plan and verify, or a firmware (ELF, HEX, S-records, FILE@ADDRESS).",
    ),
]
SomeMachine = Annotated[
    str | None,
    option(
        "NAME|FILE",
        "Default: for a program the machine it was written for, else stm32f746g-disco.",
        names="--machine -m",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ModelPlanning:
    """How a model is planned."""

    policy: Annotated[
        str | None,
        option("NAME", "For a model: {policies} (default: tinyops; internal without SDRAM).", names="--policy -p"),
    ] = None
    planning: Planning


@dataclass(frozen=True)
class Running:
    """How a program is run, and whether."""

    kernels: Annotated[
        str | None, option("NAME|PATH", "Kernel set that runs. Default: what the program names; cmsis.")
    ] = None
    model: Annotated[
        str | None,
        option("MODEL", "The program's model. Default: the one it names, in its folder or in `mcusim models`."),
    ] = None
    input: options.Input = None
    static: Annotated[bool, flag("--static", "The static proof alone: nothing is run.")] = False
    sanitize: Annotated[
        str | None,
        option(
            "halt|report|off",
            "Watch who wrote each byte that is read: stop at the first wrong one, or report (default) all.",
        ),
    ] = None
    fuzz: Annotated[int, option("N", "Runs with the timing disturbed, a seed each.", min=0, max=_MOST_SEEDS)] = 0
    seed: Annotated[int | None, option("S", "First seed of --fuzz. Default: 1.", min=0, max=2**62)] = None


@dataclass(frozen=True)
class WatchedFirmware:
    """How a firmware is run."""

    until: Annotated[
        str | None,
        option("WHERE", 'A firmware: end at a symbol, an address, or after "1000 cycles" or "5 ms".'),
    ] = None
    image: Annotated[
        list[str] | None, option("PROGRAM", "A firmware: a further image, loaded as well. Repeatable.")
    ] = None
    entry: Annotated[
        str | None, option("WHERE", "A firmware: start at a symbol or address of code or vector table.")
    ] = None
    peripherals: Annotated[
        str | None,
        option(
            "strict|lenient", "A firmware: a register block not described here is a fault, or keeps what is stored."
        ),
    ] = None
    max_instructions: Annotated[int | None, option("N", "A firmware: stop it after N instructions.", min=1)] = None

    @property
    def first(self) -> str | None:
        """The first option given."""
        option = next((name for name, value in vars(self).items() if value), None)
        return None if option is None else "--" + option.replace("_", "-")


def request(what: str, machine: str | None, plan: ModelPlanning, asked: Running) -> VerifyRequest:
    """The options as :func:`~mcusim.api.verify.verify` takes them."""
    from mcusim.api.verify import VerifyRequest

    how = plan.planning
    return VerifyRequest(
        what=what, machine=machine, policy=plan.policy, overrides=how.overrides, costs=how.costs, options=how.given,
        allow_unknown=how.allow_unknown, **vars(asked),
    )  # fmt: skip


@grouped
def verify(
    what: What,
    *,
    machine: SomeMachine = None,
    plan: ModelPlanning,
    asked: Running,
    firmware: WatchedFirmware,
    written: Written,
) -> int:
    """Prove a program correct for every timing, run it under a sanitizer, compare its outputs; or say what is wrong.

    It runs on the emulated core in the state that a second inference finds; a sanitizer sees every stale or torn byte.
    Its outputs are compared with those of an untiled run and of LiteRT. A program whose model is not available gets the
    static proof alone. A firmware is watched from its reset on: stale bytes, transfers used before their end, races
    with interrupt handlers. Exit status 0: clean, 1: findings or differences, 2: bad input.

    \b
    Examples:
      mcusim verify ds-cnn --machine stm32f746g-disco --variant 2023
      mcusim verify traces/broken-03-early-buffer-reuse.jsonl --json findings.json
      mcusim verify program.jsonl --model vww_96_int8.tflite --sanitize halt
      mcusim verify ds-cnn --fuzz 200 --seed 1
      mcusim verify traces/broken-03-early-buffer-reuse.jsonl --static
      mcusim verify firmware.elf --machine stm32f746g-disco --until done --fuzz 100
    """
    from mcusim.api.firmware.verify import is_firmware

    if is_firmware(what):
        return _watched(what, machine, request(what, machine, plan, asked), firmware, written)
    if firmware.first:
        raise UsageError(f"{firmware.first} is for a firmware; {what[:80]} is a program file or a model")
    return _verified(what, machine, plan, asked, written.to(what, machine, asked.model, *(asked.input or ())))


def _watched(what: str, machine: str | None, given: VerifyRequest, firmware: WatchedFirmware, written: Written) -> int:
    """Watch a firmware and write the outcome; returns the exit status."""
    from mcusim.api.firmware.verify import check_firmware_request, firmware_case, fuzz_firmware, watch_firmware
    from mcusim.verification.firmware.table import firmware_verification_table

    check_firmware_request(given)
    out = written.to(what, machine, *(firmware.image or ()))
    case = firmware_case(
        what, machine or _MACHINE, images=firmware.image or (), entry=firmware.entry, until=firmware.until,
        overrides=given.overrides, peripherals=firmware.peripherals or "strict",
        max_instructions=firmware.max_instructions,
    )  # fmt: skip
    with counting(f"watching {what}", firmware.max_instructions) as counter:
        result = watch_firmware(case, counter.step)
    if given.seeds and not result.interrupted:
        with bar_of_steps(f"fuzzing {what}", "seeds", len(given.seeds)) as tick:
            result = fuzz_firmware(result, case, given.seeds, tick=tick)
    out.emit(lambda: firmware_verification_table(result), result.to_json)
    if result.wrong:
        fail(f"{what}: {', '.join(result.wrong)}")
    if result.interrupted:
        return 130
    return 1 if result.wrong else 0


def _verified(what: str, machine: str | None, plan: ModelPlanning, asked: Running, out: Output) -> int:
    """Verify and write the outcome; returns the exit status."""
    from mcusim.api.verify import check_request, verify_case
    from mcusim.verification.table import verification_table

    verify_request = request(what, machine, plan, asked)
    check_request(verify_request)
    with bar(f"verifying {what}") as step:
        verifier = verify_case(verify_request).verifier(verify_request)
        result = verifier.verify(step)
    if verify_request.seeds:
        with bar_of_steps(f"fuzzing {what}", "seeds", len(verify_request.seeds)) as tick:
            result = verifier.fuzz(result, verify_request.seeds, progress=tick)
    out.emit(lambda: verification_table(result), result.to_json)
    if result.wrong:
        fail(f"{what}: {', '.join(result.wrong)}")
    return 1 if result.wrong else 0
