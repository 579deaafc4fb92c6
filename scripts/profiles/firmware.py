"""Firmware of the test programs: what it is built of, for ``build_kernels``. It needs the standard library only."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

BOARDS = {"cortex-m4": "STM32F469", "cortex-m7": "STM32F746"}
START = ("firmware/startup.c", "io.c")
ON_ANY_BOARD = {
    "rtos": ("firmware/rtos/main.c", "firmware/rtos/rtos.c"),
    "printing": ("firmware/printing/main.c",),
    "parts": tuple(f"firmware/parts/{name}.c" for name in ("main", "l4r5", "g474", "h743")),
}
BOARD = tuple(f"firmware/board/{name}.c" for name in ("clock", "tick", "memory"))
OVERLAY = tuple(f"firmware/overlay/{name}.c" for name in ("main", "overlay", "network", "transfers"))
KERNELS = ("cmsis/conv.c", "cmsis/conv_1x1.c", "cmsis/widen.c", "common/words.c")  # of the kernel sets, in their order
OPTIONS = ("-I.", "-Ifirmware/board", "-Ifirmware/overlay", "-I../../sets/include")
LINES = ("-g1", "-gno-column-info", "-gno-statement-frontiers")  # the overlay keeps lines and symbols alone
NOT_LINES = ("--remove-section=.debug_[!l]*", "--remove-section=.ARM.attributes", "-w", "--strip-symbol=$[td]*")

ON_BOTH = (
    "ndtr-short", "chunk-overlap", "stream-order", "early-start", "wrong-flag", "wrong-half", "input-reused",
    "output-reused", "missing-wait", "race", "unreachable",
)  # fmt: skip
WITH_CACHES = ("missing-invalidate", "missing-clean", "clean-after", "half-line", "missing-input-clean")
FAULTS = {"cortex-m4": ON_BOTH, "cortex-m7": ON_BOTH + WITH_CACHES}


@dataclass(frozen=True)
class Toolchain:
    """``compile`` and ``link`` call the compiler for a core, in the folder of the sources, with its flags and maps."""

    compile: Callable[[str, Sequence[str], Path], None]  # core, options and sources, the object
    compile_kernel: Callable[[str, Sequence[str], Path], None]  # as a kernel set is compiled
    link: Callable[[str, Sequence[str], Path], None]  # core, script, options and objects, the program


def build(folder: Path, tools: Toolchain, strip: Callable[[Sequence[str], Path], None]) -> None:
    """Build all firmware into ``folder``, the broken variants of the overlay into ``folder/broken``."""
    (folder / "broken").mkdir(parents=True)
    for core, board in BOARDS.items():
        with tempfile.TemporaryDirectory() as temporary:
            _Build(core, (*OPTIONS, f"-D{board}"), tools, Path(temporary)).all(folder, strip)


@dataclass
class _Build:
    core: str
    options: tuple[str, ...]
    tools: Toolchain
    objects: Path

    def all(self, folder: Path, strip: Callable[[Sequence[str], Path], None]) -> None:
        script = ("-T", f"firmware/{BOARDS[self.core][5:].lower()}.ld")
        for name, sources in ON_ANY_BOARD.items():
            self.link(("-T", "flash.ld"), self.of(START + sources), folder / f"{name}-{self.core}.elf")
        self.link(script, self.of((*START, *BOARD, "firmware/board/main.c")), folder / f"board-{self.core}.elf")
        placed = ("-T", f"firmware/placed/{BOARDS[self.core][5:].lower()}.ld")
        self.link(placed, self.of((*START, *BOARD, "firmware/placed/main.c")), folder / f"placed-{self.core}.elf")
        # memset and memcpy of the kernels come first, and are the ones that stay
        common = [*self.kernels(*LINES), *self.of(START + BOARD, *LINES)]
        for fault in ("none", *FAULTS[self.core]):
            overlay = self.of(OVERLAY, *LINES, f"-DFAULT={fault.upper().replace('-', '_')}")
            name = f"broken/{fault}" if fault != "none" else "overlay"
            target = folder / f"{name}-{self.core}.elf"
            self.link(script, [*common, *overlay], target)
            strip(NOT_LINES, target)

    def of(self, sources: Sequence[str], *options: str) -> list[str]:
        """Compile; the paths of the objects."""
        return [self.one(self.tools.compile, source, *self.options, *options) for source in sources]

    def kernels(self, *options: str) -> list[str]:
        compile_kernel = self.tools.compile_kernel
        return [self.one(compile_kernel, source, *options) for source in KERNELS]

    def one(self, run: Callable[[str, Sequence[str], Path], None], source: str, *options: str) -> str:
        target = self.objects / f"{len(list(self.objects.iterdir()))}.o"
        run(self.core, [*options, "-c", source], target)
        return str(target)

    def link(self, script: Sequence[str], objects: Sequence[str], target: Path) -> None:
        self.tools.link(self.core, [*script, "-Wl,--allow-multiple-definition", *objects], target)
