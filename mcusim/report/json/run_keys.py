"""The keys of a run's JSON, one by one: what the reference page lists and a test compares with what is written.

``a.b`` is key ``b`` of the object ``a``, ``a[]`` any item of a list, ``<region>`` any key. A type with ``?`` may be
null: without ``run`` (the model does not fit, or its kernel faults) all figures are.
"""

from __future__ import annotations

from mcusim.report.json.described import ANY, Keys, key_table, under

__all__ = ["CLOCK_KEYS", "RUN_KEYS", "run_json_page"]

CLOCK_KEYS: Keys = {
    "clock.hz": ("integer", "core clock"),
    "clock.max_hz": (
        "integer?",
        "the fastest that the part is specified for; null when the machine's file does not say",
    ),
    "clock.forced": ("bool", "whether `hz` is beyond it"),
    "clock.regulator": ("text?", "the regulator's setting at that clock; null when the machine's file names none"),
    "clock.moved[].key": ("text", "what followed a changed clock: a machine key, or `regulator`"),
    "clock.moved[].before": ("text", "as the machine's file has it"),
    "clock.moved[].after": ("text", "as it is here"),
    "clock.moved[].rule": ("text", "by which divider or up to which clock of the table"),
    "clock.moved[].basis": ("text", "what the rule rests on: `datasheet`, `measured`, `calibrated` or `assumed`"),
    "clock.moved[].source": ("text", "and where it is from"),
    "clock.stayed[]": ("text", "a key with its value that has no divider or table to follow a changed clock by"),
}
_PLACE = {
    "region": ("text", "region of the first byte"),
    "address": ("integer", "address of the first byte"),
    "bytes": ("integer", "size"),
}
_LIFE = {
    "first": ("integer", "step at which it begins to live (`operators[].step`)"),
    "last": ("integer", "step after which its bytes are free"),
}
_OPERATOR = {
    "index": ("integer", "place in the model"),
    "type": ("text", "TFLite's name of the operator"),
    "step": ("integer", "place in the order of execution; the list is in this order"),
    "kernel": ("text", "symbol that was executed, or what the cost profile costs it as"),
    "cycles": ("integer", "core cycles, waiting included; they sum to `cycles`"),
    "ms": ("number", "the same in milliseconds; they sum to `latency_ms`"),
    "energy_mj": ("number", "millijoules; they sum to `energy_mj`, with `outside_operators`"),
    "macs": ("integer", "multiply-accumulates"),
    "tiles": ("integer", "tiles that it is computed in: one for each kernel task"),
    "cycles_by_cause.<cause>": ("integer", "cycles by cause; sum to `cycles`"),
    "main_cause": ("text?", "the largest of `cycles_by_part` in words"),
    "cycles_by_part[].cause": ("text", "cycles by cause, memory and operand, largest first; sum to `cycles`"),
    "cycles_by_part[].region": ("text", "region that was waited for; empty for none"),
    "cycles_by_part[].what": ("text", "operands that were waited for; the type of operator for `compute`"),
    "cycles_by_part[].cycles": ("integer", "cycles of this part"),
    "energy_mj_by_part.<part>": ("number", "millijoules by consumer; sum to `energy_mj`"),
    "traffic.<region>": ("integer", "bytes that crossed the region's pins for it, by core and DMA"),
    "bytes_in_use.<region>": ("integer", "bytes in buffers that are alive while it runs, weights included"),
    "bytes_in_use": ("object?", "null when the program is not known"),
    "inputs[]": ("integer", "index of an input in `tensors`; constants included"),
    "inputs": ("list?", "null when the program was read from a file and its model is not known"),
    "input_shapes[][]": ("integer", "shape of each input"),
    "input_shapes": ("list?", "null as `inputs`"),
    "outputs[]": ("integer", "index of an output in `tensors`"),
    "outputs": ("list?", "null as `inputs`"),
    "output_shapes[][]": ("integer", "shape of each output"),
    "output_shapes": ("list?", "null as `inputs`"),
    "operands[].role": ("text", "`input0`, `filter`, `bias`, `multiplier`, `shift`, `scratch`, `output` ..."),
    "operands[].access": ("text", "`r`, `w` or `rw`"),
    "operands[].tensor": ("integer?", "whose values these are, also in a copy; null for scratch and the like"),
    "operands[].buffer": ("text?", "buffer of the program that the bytes lie in"),
} | {f"operands[].{key}": text for key, text in _PLACE.items()}
_TENSOR = {
    "index": ("integer", "place in the model"),
    "name": ("text?", "null when the model is not known"),
    "shape[]": ("integer", "sizes of its axes"),
    "shape": ("list?", "null when the model is not known"),
    "dtype": ("text?", "`int8`, `int32` ...; null when the model is not known"),
    "bytes": ("integer", "size"),
    "kind": ("text", "`activation` or `constant`"),
    "region": ("text?", "region of the first byte; null for a tensor that the program keeps no bytes of"),
    "address": ("integer?", "address of the first byte"),
    "first": ("integer?", _LIFE["first"][1]),
    "last": ("integer?", _LIFE["last"][1]),
}
_BUFFER = {
    "name": ("text", "the program's name"),
    "kind": ("text", "`scratch`, `overlay` (tiles and weights that the DMA copies), `runtime` or `state`"),
    **_PLACE,
    **_LIFE,
}
_OUTPUT = {
    "name": ("text", "an output of the network (emulated runs)"),
    "dtype": ("text", "its type"),
    "shape[]": ("integer", "its shape"),
    "sha256": ("text", "of its bytes"),
    "values[]": ("number?", "its values, flat, when there are no more than a thousand; null for an infinity"),
}
_HEAD = {
    "model": ("text", "name of the model"),
    "machine": ("text", "name of the board"),
    "policy": ("text", "planner"),
    "kernels": ("text", "cost profile or kernel set"),
    "fidelity": ("text", "`replay` or `emulate`"),
    "fits": ("bool", "whether it ran"),
    "sram_budget": ("integer?", "limit of on-chip RAM that was asked for, bytes"),
    "variant": (
        "text?",
        "of the policy, `2022` or `2023`; null for a policy that has none, or a row that was not planned",
    ),
    "runtime": ("text?", "what executes the model; null for a row that was not planned"),
    "order": ("text?", "`default` or `optimal`; null for a row that was not planned"),
    "allocator": ("text?", "who places tensors; null for a row that was not planned, or that did not name one"),
    "in_place": ("bool?", "whether results lie in the bytes of inputs that die"),
    "without": ("text?", "techniques that compiled code leaves out, with commas; null for none"),
    "verdict": ("object?", "what was counted; null when it could not be planned, or a kernel faulted"),
    "verdict.fits": ("bool", "whether `needed` is at most `available`"),
    "verdict.what": ("text", "what was counted"),
    "verdict.region": ("text", "regions that it goes into, joined by `+`"),
    "verdict.needed": ("integer", "bytes: the sum of the parts"),
    "verdict.available": ("integer", "bytes that there are"),
    "verdict.over": ("integer", "bytes too many; 0 when it fits"),
    "verdict.parts.<name>": (
        "integer",
        "of an arena `activations`, `scratch` (what it adds), `state`, `runtime`; else `overlay` ...",
    ),
    "set.<key>": ("text", "machine keys that were changed"),
    **CLOCK_KEYS,
    "model_sha256": ("text?", "of the model's file; of a built-in network its definition's"),
    "options": (
        "object?",
        "what the policy was asked for and chose; null without a run",
    ),
    "options.<name>": (ANY, "a number, a text, a list of texts or null"),
    "cycles": ("integer?", "core cycles"),
    "clock_hz": ("integer", "core clock"),
    "latency_ms": ("number?", "milliseconds"),
    "energy_mj": ("number?", "millijoules that the supply delivers"),
    "energy_missing": ("text?", "why there is no energy; null when there is one"),
    "supply_current_ma": ("number?", "mean current"),
    "period": ("object?", "energy for each period, asleep in the rest; null without `--period` or a run"),
    "period.period_ms": ("number", "what `--period` asked for"),
    "period.latency_ms": ("number", "of one inference"),
    "period.met": ("bool", "whether that is within the period; if not, the figures below are null"),
    "period.sleep_current_ma": ("number", "current while the core sleeps, external memories included"),
    "period.sleep_mj": ("number?", "energy asleep in one period"),
    "period.energy_mj": ("number?", "energy of one period"),
    "period.mean_power_mw": ("number?", "mean power"),
    "period.mean_current_ma": ("number?", "mean current at the supply"),
    "period.interval_mj[]": ("number", "low and high of a measurement of `energy_mj`; null without an interval"),
    "period.interval_mj": ("list?", "null where the period is not met"),
    "period.battery": ("object?", "null without `--battery`"),
    "period.battery.battery.name": ("text", "the cell"),
    "period.battery.battery.capacity_mah": ("number", "its charge"),
    "period.battery.battery.voltage": ("number", "its voltage"),
    "period.battery.battery.most_ma": ("number?", "the largest current it is meant for, where that is known"),
    "period.battery.battery.source": ("text", "where these figures are from"),
    "period.battery.hours": ("number", "how long it lasts"),
    "period.battery.by": ("text", "what was divided: its charge, or its energy"),
    "period.battery.overload": ("bool", "whether more current is drawn than it is meant for"),
    "macs": ("integer?", "multiply-accumulates of one inference; null when the model was not loaded"),
    "left_out[]": ("text", "operators that mcusim does not know and that got no cost: no figure has them"),
    "costs.<operator>": ("text", "what operators that mcusim does not know were said to cost"),
    "peak_bytes.<region>": ("integer", "bytes that the plan reserves, weights included"),
    "peak_bytes": ("object?", "null without a run"),
    "peak_sram_bytes": ("integer?", "of these, in on-chip RAM"),
    "memory": ("object?", "null without a run"),
    "memory.activations": ("integer", "peak of planned activations, bytes"),
    "memory.scratch": ("integer", "largest scratch buffer"),
    "memory.overlay": ("integer", "buffers of copies"),
    "memory.runtime": ("integer", "interpreter's data"),
    "memory.state": ("integer", "resource variables, kept between inferences"),
    "memory.arena": ("integer", "arena as TensorFlow Lite Micro would plan it, runtime included"),
    "memory.weights": ("integer", "constants"),
    "memory.arena_exported": ("integer?", "that arena with explicit PADs, as a PyTorch export has them"),
    "cycles_by_cause.<cause>": ("integer", "cycles by cause; sum to `cycles`"),
    "cycles_by_cause": ("object?", "null without a run"),
}
_TAIL = {
    "outside_operators": ("object?", "the totals less the sum of the operators; null without a run"),
    "outside_operators.cycles": ("integer", "0: every cycle belongs to an operator"),
    "outside_operators.energy_mj": ("number", "energy of what is moved between operators"),
    "outside_operators.traffic.<region>": ("integer", "bytes moved between operators"),
    "traffic": ("object?", "null without a run"),
    "traffic.<region>.core_read": ("integer", "bytes that crossed the region's pins (behind the caches)"),
    "traffic.<region>.core_write": ("integer", "written by the core"),
    "traffic.<region>.dma_read": ("integer", "read by DMA"),
    "traffic.<region>.dma_write": ("integer", "written by DMA"),
    "busy": ("object?", "null without a run"),
    "busy.<lane>": ("integer", "cycles with a task in progress on the core or a DMA stream"),
    "counters": ("object?", "null without a run"),
    "counters.<name>": ("integer", "hits and misses, rows, refreshes; emulated also instructions and branches"),
    "flash": ("object?", "what flash keeps; null when the model is not known, as of a saved program"),
    "flash.parts[].name": ("text", "`weights`, `model file` (its other bytes), `kernel code` or `runtime`"),
    "flash.parts[].bytes": ("integer", "bytes of this part"),
    "flash.parts[].region": ("text?", "region that keeps them"),
    "flash.parts[].basis": ("text", "`stored` in the file, `counted` in compiled code or `assumed`"),
    "flash.parts[].source": ("text", "where the figure is from"),
    "flash.regions[].region": ("text", "flash or QSPI flash"),
    "flash.regions[].used": ("integer", "bytes of the parts that are kept there"),
    "flash.regions[].size": ("integer", "bytes that it has"),
    "flash.regions[].fits": ("bool", "whether that is enough"),
    "flash.total_bytes": ("integer", "all parts"),
    "flash.fits": ("bool", "whether all regions are large enough"),
    "flash.uncounted[]": ("text", "operators whose code is not known"),
    "limits[].name": ("text", "`latency`, `energy`, `sram` or `flash`: what `--max-...` asked for; `period`"),
    "limits[].unit": ("text", "`ms`, `mJ` or `B`"),
    "limits[].limit": ("number", "the most there may be"),
    "limits[].value": ("number?", "what there is; null when it is not known"),
    "limits[].met": ("bool", "whether that is within the limit"),
    "ways_out[].what": ("text", "what is changed; the list is best first"),
    "ways_out[].command": ("text", "the command that gives these figures"),
    "ways_out[].machine": ("text", "name of the board"),
    "ways_out[].policy": ("text", "planner"),
    "ways_out[].latency_ms": ("number", "milliseconds"),
    "ways_out[].energy_mj": ("number?", "millijoules; null when the board has no figures for it"),
    "ways_out[].peak_sram_bytes": ("integer", "peak in on-chip RAM"),
    "ways_out[].flash_bytes": ("integer", "what the board's own flash keeps"),
    "ways_out[].other_board": ("bool", "whether it is another board"),
    "ways_tried": ("integer", "changes that were tried"),
    "ways_note": ("text?", "how, or why none was; null when there was no need"),
    "closest_way": ("text?", "what came nearest when there is no way out"),
    "interval": ("object?", "where a measurement is expected; null without a run"),
    "interval.level": ("number", "probability with which a measurement is inside; `interval` is null without a run"),
    "interval.latency_ms[]": ("number", "low and high, milliseconds"),
    "interval.energy_mj[]": ("number", "low and high, millijoules"),
    "interval.rows": ("integer", "published latencies that it is made from, none of which was used to fit a figure"),
    "interval.like": ("integer", "those of the same machine, kernels and policy"),
    "interval.not_measured[]": ("text", "what no such row has of this run; each makes the interval wider"),
    "interval.situation.machine": ("text", "what the run may have in common with measured ones: name of the board"),
    "interval.situation.core": ("text", "its core"),
    "interval.situation.code": ("text", "kernel set, or the profile where it was fitted to none"),
    "interval.situation.fidelity": ("text", "`replay` or `emulate`"),
    "interval.situation.policy": ("text", "planner"),
    "interval.situation.mix.<type>": ("number", "share of the cycles in that type of operator, or in the `runtime`"),
    "interval.situation.model": ("text", "name of the model"),
    "interval.situation.setting": ("text", "what is set otherwise than in published runs; empty for nothing"),
    "interval.situation.clock": ("number", "core clock over that of the board as it ships"),
    "assumptions[]": ("text", "figures that the result rests on and that were not measured"),
    "warnings[]": ("text", "what to know about the model or the plan"),
}
_SOMETIMES = {
    "invocations[].cycles": ("integer", "of each of several inferences; the key is there with `--invocations`"),
    "invocations[].by_cause.<cause>": ("integer", "cycles by cause; sum to those of the inference"),
    "does_not_fit.region": ("text", "where there is no room; the key is there when a model does not fit"),
    "does_not_fit.needed": ("integer", "bytes that were needed"),
    "does_not_fit.available": ("integer", "bytes that there are"),
    "does_not_fit.what": ("text", "what they were needed for"),
    "fault.operator": ("integer", "operator whose kernel faulted; the key is there when one did"),
    "fault.type": ("text", "its type"),
    "fault.tile": ("integer", "tile, from 0"),
    "fault.tiles": ("integer", "tiles of the operator"),
    "fault.symbol": ("text", "function"),
    "fault.kind": ("text", "what it did wrong"),
    "fault.text": ("text", "the same in words"),
    "fault.pc": ("integer?", "address of the instruction"),
    "fault.address": ("integer?", "address that was accessed"),
    "fault.line": ("text?", "line of the source"),
    "unusable": ("text", "why the row of a comparison could not be planned at all"),
    "measured.<figure>": ("number", "published figure of this experiment; the key is there when there are any"),
    "measured.source": ("text", "publication and tables"),
    "measured.use.<figure>": ("text", "`calibrate` or `validate`"),
    "measured.error_percent.<figure>": ("number", "simulated against measured"),
}


RUN_KEYS: Keys = {
    **_HEAD,
    "operators": ("list?", "null without a run"),
    **under("operators[]", _OPERATOR),
    "tensors": ("list?", "null without a run"),
    **under("tensors[]", _TENSOR),
    "buffers": ("list?", "buffers that are no tensor's; null without a run"),
    **under("buffers[]", _BUFFER),
    **_TAIL,
    **under("outputs[]", _OUTPUT),
    **_SOMETIMES,
}
"""By path: type and meaning."""


def run_json_page() -> str:
    """The reference page of these keys, as Markdown."""
    return _HEADING + key_table(RUN_KEYS)


_HEADING = """# JSON of a run

What `mcusim run --json FILE` writes, `mcusim replay --json` too, and `result.save_json(path)` in Python. `mcusim
compare --json` has a list of these objects under `rows`; `--fidelity both` has two, `replay` and `emulate`. Sizes are
in bytes, addresses are integers. `a.b` is key `b` of object `a`, `a[]` any item of a list, `<region>` any key.

The parts sum to the whole: cycles and ms of `operators` to those of the run, mJ and bytes together with
`outside_operators`. A test compares this table with what is written.

"""
