"""``mcusim tune``."""

from __future__ import annotations

from typing import Annotated

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import MachineKeys, Written
from mcusim.commands.shared.progress import bar, spinner
from mcusim.commands.tune.tune_options import TrialOptions, TunedOptions, TunerOptions


@grouped
def tune(
    what: Annotated[str, argument("MODEL|TEMPLATE", "A network, or a template with --shape.")],
    machine: options.Machine = "stm32f746g-disco",
    *,
    subject: TunedOptions,
    search: TunerOptions,
    work: TrialOptions,
    keys: MachineKeys,
    written: Written,
) -> int:
    """Tune compiled kernels to a network's layers and a board, every trial on the emulated core.

    A template is C with a space of configurations: loop orders, blocks, unrolling, copies,
    compiler flags. A trial is compiled, run and compared with LiteRT byte by byte; its
    cycles have causes. The same seed gives the same trials with any number of processes,
    and --log goes on where a killed tuning ended. Exit status 1: no right kernel.
    With --memories the options of a policy are tuned: buffers, tiles, what is copied.

    \b
    Examples:
      mcusim tune cifar10-arm --machine nucleo-f746zg --layers 2 --trials 32
      mcusim tune cifar10-arm --trials 200 --log cifar10.jsonl
      mcusim tune conv2d-direct --shape in=16x16x32,kernel=5x5,out=32
      mcusim tune proxyless-w0.25-r160 -m stm32f469i-disco --memories --trials 16
    """
    output = written.to(what, machine, work.log)
    from mcusim.api.simulate import changed
    from mcusim.tuning.tune import tune_tasks
    from mcusim.tuning.tuning_tables import tuning_json, tuning_text

    work.check([what, machine], written, subject.memories)
    board = changed(machine, keys.overrides)
    with spinner("reading the layers"):
        plan = search.plan(what, board, subject)
    with bar("tuning", "trials") as step:
        tuned = tune_tasks(plan, work.log, work.jobs, work.dask, step)
    output.emit(lambda: tuning_text(plan, tuned), lambda: tuning_json(plan, tuned))
    work.applied(plan, tuned, written.force)
    return 0 if all(task.best is not None for task in tuned) else 1
