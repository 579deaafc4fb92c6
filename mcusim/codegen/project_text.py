"""What is around a model's C files: a main function, a Makefile, a linker script, a page that explains them.

Not modelled: start-up code; a board's own, or an emulator that calls ``main``, does what it would.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcusim.codegen.c_text import array_text, comment
from mcusim.codegen.memory import Constant
from mcusim.codegen.model_text import COPIES, MADE, ends_type
from mcusim.codegen.sources import KernelSources
from mcusim.kernels.kernel_set import KernelSet
from mcusim.machine.cores import CORES
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.pools import largest_region, room_for
from mcusim.text import size as size_text

STACK = 4096  # bytes that main and the kernels may need

Array = np.ndarray[Any, Any]
FLAGS = (
    "-std=gnu11 -Wall -Wextra -fno-common -fwrapv -fno-math-errno -ffp-contract=off -fno-tree-loop-distribute-patterns"
    " -ffunction-sections -fdata-sections"
)


@dataclass(frozen=True)
class Project:
    """A model in C, what it is built from and the board that its program is linked for."""

    graph: Graph
    kernels: KernelSet
    sources: KernelSources
    machine: Machine


def main_text(project: Project, inputs: Sequence[Array]) -> str:
    """``main``: puts ``inputs`` in, invokes, copies all outputs to ``outputs``, one behind the other."""
    graph = project.graph
    sizes = [graph.tensors[t].bytes for t in graph.outputs]
    text = f"/* One inference of {comment(graph.name)} on random values. {MADE} */\n"
    text += f'#include "model.h"\n{COPIES}\n#ifdef HOST\n#include <stdio.h>\n#endif\n\n'
    for i, values in enumerate(inputs):
        text += array_text(Constant(f"input{i}", np.ascontiguousarray(values).reshape(-1))) + "\n"
    text += f"extern uint8_t outputs[{max(sum(sizes), 1)}];\nuint8_t outputs[{max(sum(sizes), 1)}];\n\n"
    lines = ["int main(void)", "{"]
    if any(t.variable and t.bytes for t in graph.tensors):
        lines.append("    mcusim_reset();")
    lines += [f"    memcpy(mcusim_input({i}), input{i}, sizeof input{i});" for i, v in enumerate(inputs) if v.size]
    lines += ["    const int error = mcusim_invoke();", "    if (error != 0) return error;"]
    at = 0
    for i, size in enumerate(sizes):
        lines.append(f"    memcpy(outputs + {at}, mcusim_output({i}), {size});" if size else "")
        at += size
    printed = '    for (unsigned i = 0; i < sizeof outputs; i++) printf("%02x", outputs[i]);\n    printf("\\n");'
    lines += ["#ifdef HOST", printed, "#endif", "    return 0;", "}", ""]
    return text + "\n".join(line for line in lines if line or line is lines[-1])


def makefile_text(project: Project) -> str:
    """``make``: the program for a core; ``make lib``; ``make host``: for the machine that compiles."""
    sources = project.sources
    parts = shlex.split(project.kernels.flags)
    own = [word for word in parts if not word.startswith("-O")]
    level = next((word for word in reversed(parts) if word.startswith("-O")), "-O2")
    includes = " ".join(f"-I{location}" for location in sources.include)
    cores = [f"FLAGS_{isa} = {' '.join(core.compiler_flags)}" for isa, core in CORES.items()]
    lines = [
        f"# {MADE}",
        "#   make            for the core CORE, linked with board.ld: for an emulator that calls main",
        "#   make lib        libmodel.a for that core",
        "#   make host       for this computer; prints the outputs",
        f"CORE = {project.machine.core.isa}",
        f"OPT = {level}",
        "CC = arm-none-eabi-gcc",
        "AR = arm-none-eabi-ar",
        "HOSTCC = gcc",
        "HOSTFLAGS =",
        *cores,
        f"CFLAGS = {FLAGS} $(OPT) -I. {includes}{''.join(' ' + _made(word) for word in own)}",
        f"KERNELS = {' '.join(sources.compiled)}",
        f"COPIES = {' '.join(sources.copies)}",
        "HEADERS = $(wildcard *.h kernels/*/*.h)",
        "BUILD = build/$(CORE)",
        "OBJECTS = $(patsubst %.c,$(BUILD)/%.o,model.c $(KERNELS))",
        "OTHERS = $(patsubst %.c,$(BUILD)/%.o,main.c $(COPIES))",
    ]
    return "\n".join([*lines, *_rules()])


def _rules() -> list[str]:
    return [
        "",
        "all: model-$(CORE).elf",
        "lib: libmodel.a",
        "host: model-host",
        "",
        "model-$(CORE).elf: $(OBJECTS) $(OTHERS) board.ld",
        "\t$(CC) $(FLAGS_$(CORE)) -nostdlib -Wl,--gc-sections -T board.ld $(OBJECTS) $(OTHERS) -lgcc -o $@",
        "libmodel.a: $(OBJECTS)",
        "\trm -f $@",
        "\t$(AR) rcs $@ $(OBJECTS)",
        "$(BUILD)/%.o: %.c $(HEADERS) Makefile",
        "\t@mkdir -p $(dir $@)",
        "\t$(CC) $(FLAGS_$(CORE)) $(CFLAGS) -g -c $< -o $@",
        "model-host: main.c model.c $(KERNELS) $(HEADERS) Makefile",
        "\t$(HOSTCC) $(CFLAGS) $(HOSTFLAGS) -DHOST main.c model.c $(KERNELS) -o $@",
        "clean:",
        "\trm -rf build model-*.elf libmodel.a model-host",
        ".PHONY: all lib host clean",
        "",
    ]


def _made(word: str) -> str:
    """A word of a compiler's command line in a Makefile."""
    return shlex.quote(word).replace("$", "$$").replace("#", "\\#")


def script_text(machine: Machine, array: int) -> str:
    """A linker script: code and constants in flash, the ``array`` bytes in the first RAM with room for them."""
    flash, ram = largest_region(machine, "flash"), room_for(machine, array + STACK)
    code = flash or ram
    kept, data = (f"{size_text(pool.size)} of {comment(pool.name)}" for pool in (code, ram))
    return f"""/* {comment(machine.name)}: code and constants in {kept}, data in {data}. */
ENTRY(main)
SECTIONS
{{
    . = {code.base:#x};
    .text : {{ *(.text .text.*) }}
    .rodata : {{ *(.rodata .rodata.*) }}
    code_end = .;
    . = {ram.base:#x};
    .data : {{ *(.data .data.*) }}
    .bss (NOLOAD) : {{ *(.bss .bss.* COMMON) }}
    data_end = .;
    /DISCARD/ : {{ *(.ARM.exidx* .ARM.extab* .comment .note*) }}
}}
ASSERT(code_end <= {code.base + code.size:#x}, "code and constants do not fit {kept}")
ASSERT(data_end <= {ram.base + ram.size:#x}, "data do not fit {data}")
"""


def page_text(project: Project, array: int) -> str:
    """The page of the folder."""
    graph, machine = project.graph, project.machine
    isa, source, target = machine.core.isa, ends_type(graph, graph.inputs), ends_type(graph, graph.outputs)
    return f"""# model

{MADE} Plain C without malloc; of the C library it takes {_taken(project.sources)}.

    {source} *mcusim_input(int i);     where input i is to be put
    const {target} *mcusim_output(int i);    where output i is after a call
    int mcusim_invoke(void);           one inference; 0, or a kernel's error

- `model.h`, `model.c`: the model: one array of {array:,} bytes, constants, call structures, straight calls
- `kernels/`: the sources of the kernel set `{comment(project.kernels.name)}` that it needs (Apache-2.0, see NOTICE)
- `main.c`: one inference on random values; the outputs are in the array `outputs`
- `board.ld`: where `{comment(machine.name)}` has flash and SRAM

    make                              model-{isa}.elf
    mcusim emulate model-{isa}.elf --machine {comment(machine.name)} --call main --dump outputs=outputs.bin
    make lib                          libmodel.a, to be linked with a project of your own
    make host && ./model-host        the same on this computer: prints the outputs

`make OPT=-Os CORE=...` compiles for another optimisation and core.
"""


def _taken(sources: KernelSources) -> str:
    """The C library's functions that the kernels call."""
    texts = [data for location, data in sources.files.items() if location not in sources.copies]
    called = (re.search(rb"^(?!.*\bvoid \*memset\().*\bmemset\(", text, re.MULTILINE) for text in texts)
    return "memcpy and memset" if any(called) else "memcpy alone"


def notice_text(project: Project) -> str:
    """Where the files are from."""
    return f"""The files under kernels/ are of mcusim's kernel set {comment(project.kernels.name)} and
licensed under the Apache License, Version 2.0 (http://www.apache.org/licenses/LICENSE-2.0),
as is what mcusim wrote around them. The model's weights are under the model's own licence.
A kernel set of your own has the licence that you gave it.
"""
