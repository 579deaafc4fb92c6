"""Building an object of the library: its functions are translated by numba, each alone, then linked, optimised once and
made machine code by LLVM.

Translated alone means: what a function calls is a symbol. (``njit`` in ``njit`` would copy every callee into every
caller.) Everything but what is called from outside becomes internal, so that LLVM inlines and drops it.

Not modelled: vectorised loops; state is read and written a word at a time.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, cast

import llvmlite.binding as llvm

from mcusim.errors import UsageError
from mcusim.native import store
from mcusim.native.call_graph import called
from mcusim.native.compile_progress import compiling
from mcusim.native.declarations import COMPILED, Callback, External, NativeFunction
from mcusim.native.fingerprint import fingerprint
from mcusim.native.objects import PACKAGE, SOURCES, object_of, target_machine
from mcusim.native.store import NativeObject
from mcusim.processes import processes

_ENVIRONMENT = {"NUMBA_OPT": "0", "NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING": "1"}
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False, "boundscheck": None}
Function = NativeFunction | Callback
_FEW = 15  # functions: from here on two processes that start are quicker than this one (10: the same, 40: by a quarter)
_MOST_JOBS = 4  # each takes 165 MB with 10 functions, 190 with 80
INLINING = 100
"""LLVM's threshold. With its own for this level, 250, optimising takes longer, and replay gains nothing."""
# called from Python, by a test perhaps, and by other native functions too; what no native function calls is called from
# Python for certain
FROM_PYTHON = (
    "mcusim.cpu.hooks.accesses.begin",
    "mcusim.cpu.hooks.blocks.leave",
    "mcusim.cpu.hooks.blocks.slot_of",
    "mcusim.cpu.hooks.race_detector.accessed",
    "mcusim.cpu.hooks.race_detector.asked",
    "mcusim.cpu.hooks.race_detector.pushed",
    "mcusim.cpu.hooks.race_detector.raced",
    "mcusim.cpu.hooks.race_detector.turn",
    "mcusim.cpu.notes.note",
    "mcusim.cpu.system.exception_layout.index_of",
    "mcusim.cpu.system.exception_layout.number_of",
    "mcusim.cpu.system.nvic.add",
    "mcusim.cpu.system.nvic.drop",
    "mcusim.cpu.system.nvic.group",
    "mcusim.cpu.system.nvic.has",
    "mcusim.cpu.system.nvic.highest",
    "mcusim.cpu.system.nvic.pend",
    "mcusim.cpu.system.ppb.caches",
    "mcusim.cpu.system.ppb_words.put",
    "mcusim.cpu.system.ppb_words.word",
    "mcusim.cpu.system.systick.expire",
    "mcusim.kernels.cost.counted.access_streams.block_of_pair",
    "mcusim.kernels.cost.counted.access_streams.column",
    "mcusim.kernels.cost.counted.call_streams.play_images",
    "mcusim.memory.cache.tags.held",
    "mcusim.memory.dma.arbitration.advance",
    "mcusim.memory.dma.arbitration.complete",
    "mcusim.memory.dma.arbitration.mark_shared",
    "mcusim.memory.dma.arbitration.next_turn",
    "mcusim.memory.dma.undisturbed.transfer",
    "mcusim.memory.kept_streams.play.play_call",
    "mcusim.memory.kept_streams.play.play_maintenance",
    "mcusim.memory.kept_streams.record.begin",
    "mcusim.memory.kept_streams.record.end",
    "mcusim.memory.kept_streams.record.has_lines",
    "mcusim.memory.ports.core_code.fetch",
    "mcusim.memory.ports.core_code.fetch_while",
    "mcusim.memory.ports.core_data.access",
    "mcusim.memory.ports.core_data.load",
    "mcusim.memory.ports.core_data.second",
    "mcusim.memory.ports.core_data.store",
    "mcusim.memory.ports.maintenance.invalidate_instruction_line",
    "mcusim.memory.ports.maintenance.invalidate_instructions",
    "mcusim.memory.ports.maintenance.maintain_line",
    "mcusim.memory.ports.maintenance.maintain_range",
    "mcusim.memory.ports.maintenance.maintain_set_way",
    "mcusim.memory.ports.replay.fetch",
    "mcusim.memory.ports.replay.sync",
    "mcusim.memory.ports.replay.walk",
    "mcusim.memory.ports.replay.walk_in",
    "mcusim.memory.range_lookup.find",
)


def build(name: str, wanted: tuple[str, ...]) -> NativeObject:
    """The object ``name``, which exports ``wanted`` too."""
    import_all()
    functions = {function.symbol: function for function in COMPILED}
    exported = {symbol for symbol in entries() if object_of(symbol) == name}.union(wanted)
    parts = sorted(_reachable(functions[symbol] for symbol in exported), key=lambda part: part.symbol)
    with compiling(f"{name}, {len(parts)} functions"):
        bitcode = {part.symbol: code for part, code in zip(parts, _bitcode(parts), strict=True)}
        shares = _shares([functions[symbol] for symbol in sorted(exported)], _jobs(parts))
        code = _in_processes(machine_code, [_share(share, bitcode) for share in shares])
    named = {value.symbol: value for part in parts for value in called(part.py_func, External)}
    return NativeObject(sorted(exported), {symbol: named[symbol].module for symbol in sorted(named)}, code)


def _share(exported: list[Function], bitcode: dict[str, bytes]) -> tuple[list[str], list[tuple[str, str, bytes]]]:
    """What :func:`machine_code` takes: symbols that are exported, and of each function its symbol, its inlining and
    its bitcode."""
    parts = sorted(_reachable(exported), key=lambda part: part.symbol)
    return [part.symbol for part in exported], [(part.symbol, part.inlining, bitcode[part.symbol]) for part in parts]


def _shares(exported: list[Function], count: int) -> list[list[Function]]:
    """``exported`` in ``count`` shares that are optimised beside each other, each with all that it calls: so that the
    largest is small."""
    size = {part.symbol: len(part.py_func.__code__.co_code) for part in _reachable(exported)}
    called_by = {part.symbol: {other.symbol for other in _reachable([part])} for part in exported}
    shares: list[tuple[list[Function], set[str]]] = [([], set()) for _ in range(count)]

    def weight(symbols: set[str]) -> int:
        return sum(size[symbol] for symbol in symbols)

    for part in sorted(exported, key=lambda part: -weight(called_by[part.symbol])):
        share, symbols = min(shares, key=lambda share: weight(share[1] | called_by[part.symbol]))
        share.append(part)
        symbols |= called_by[part.symbol]
    return [share for share, _ in shares if share]


def machine_code(share: tuple[list[str], list[tuple[str, str, bytes]]]) -> bytes:
    """An object file of a :func:`_share`."""
    exported, parts = share
    inlining = {symbol: attribute for symbol, attribute, _ in parts}
    whole = _linked(code for _, _, code in parts)
    for function in (part for part in whole.functions if not part.is_declaration):
        if function.name not in exported:
            function.linkage = "internal"
        if inlining.get(function.name):
            function.add_function_attribute(inlining[function.name])
    target = target_machine()
    _optimise(whole, target)
    _check(whole, set(exported))
    return bytes(target.emit_object(whole))


def import_all() -> None:
    """Import every module that has native functions."""
    for folder in SOURCES:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            if "native.functions import" in path.read_text(encoding="utf-8"):
                parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
                import_module(".".join(parts).removesuffix(".__init__"))


def entries() -> set[str]:
    """The symbols of the package's functions that are called from outside."""
    own = [part for part in COMPILED if part.symbol.startswith("mcusim.")]
    inner = {other for part in own for other in _callees(part) if other is not part}
    return {part.symbol for part in own if part not in inner}.union(FROM_PYTHON)


def _reachable(functions: Iterable[Function]) -> list[Function]:
    """These, and all that they call at whatever depth."""
    seen, waiting = dict[str, Function](), list(functions)
    while waiting:
        function = waiting.pop()
        if function.symbol not in seen:
            seen[function.symbol] = function
            waiting.extend(_callees(function))
    return [*seen.values()]


@cache
def _callees(function: Function) -> tuple[NativeFunction, ...]:
    return tuple(called(function.py_func, NativeFunction))


def _bitcode(functions: list[Function]) -> list[bytes]:
    """LLVM's bitcode of each: what is kept of the same content, else translated and kept."""
    kept = store.read_translations()
    prints = [fingerprint(function) for function in functions]
    new = [(digest, function) for digest, function in zip(prints, functions, strict=True) if digest not in kept]
    if new:
        kept.update(zip((digest for digest, _ in new), _translated([function for _, function in new]), strict=True))
        current = {fingerprint(function) for function in COMPILED if function.symbol.startswith("mcusim.")}
        store.write_translations({digest: code for digest, code in kept.items() if digest in current})
    return [kept[digest] for digest in prints]


def _translated(functions: list[Function]) -> list[bytes]:
    jobs = _jobs(functions)
    shares = [[function.symbol for function in functions[first::jobs]] for first in range(jobs)]
    if jobs == 1:
        return _translate_all(functions)
    codes = [iter(codes) for codes in _in_processes(translate, shares)]
    return [next(codes[index % jobs]) for index in range(len(functions))]


def translate(symbols: list[str]) -> list[bytes]:
    """The bitcode of the package's functions of these names."""
    import_all()
    functions = {function.symbol: function for function in COMPILED}
    return _translate_all(functions[symbol] for symbol in symbols)


def _jobs(functions: list[Function]) -> int:
    """How many processes share the work: one for few, and for functions that a new process does not know."""
    if len(functions) < _FEW or any(not function.symbol.startswith("mcusim.") for function in functions):
        return 1
    return processes(None, _MOST_JOBS)


def _in_processes(work: Callable[[Any], Any], shares: Sequence[Any]) -> list[Any]:
    """``work`` of each share, in processes that import nothing but mcusim, from where this one does."""
    if len(shares) == 1:
        return [work(shares[0])]
    workers = [_worker() for _ in shares]
    try:
        for worker, share in zip(workers, shares, strict=True):
            stdin = cast(IO[bytes], worker.stdin)
            pickle.dump((work.__name__, share), stdin)
            stdin.close()
        results = [pickle.load(cast(IO[bytes], worker.stdout)) for worker in workers]
    except (EOFError, BrokenPipeError):
        raise UsageError("a process that compiles native code ended early, perhaps out of memory") from None
    finally:
        for worker in workers:
            with worker:  # which waits, and closes its pipes
                worker.kill()
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


def _worker() -> subprocess.Popen[bytes]:
    path = os.pathsep.join(str(Path(folder).absolute()) for folder in sys.path)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "mcusim.native", "--work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def work(stdin: IO[bytes], stdout: IO[bytes]) -> None:
    """What a process of :func:`_in_processes` does."""
    name, share = pickle.load(stdin)
    try:
        result: Any = translate(share) if name == translate.__name__ else machine_code(share)
    except TypeError as error:
        result = error
    pickle.dump(result, stdout)


def _translate_all(functions: Iterable[Function]) -> list[bytes]:
    collecting, environment = gc.isenabled(), {name: os.environ.get(name) for name in _ENVIRONMENT}
    gc.disable()  # numba makes many objects that live on: collecting walks them again and again
    os.environ |= _ENVIRONMENT  # numba reads it at each translation, also for what its user compiles later
    try:
        return [_translate(function) for function in functions]
    finally:
        for name, value in environment.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if collecting:
            gc.enable()


def _translate(function: Function) -> bytes:
    """Its bitcode under its symbol, unoptimised; all else in it is internal."""
    import numba

    from mcusim.native.numba_types import register, signature_of

    register()
    made: Any = numba.cfunc(signature_of(function), **_OPTIONS)(function.py_func)
    wrapper, code = made.native_name, made.inspect_llvm()
    code = code.replace(f'"{wrapper}"', f'"{function.symbol}"').replace(f"@{wrapper}(", f'@"{function.symbol}"(')
    code = code.replace("{ noinline }", "{ nounwind }")  # numba's own, of every function: it keeps the error paths
    module = llvm.parse_assembly(code)
    for part in module.functions:
        if not part.is_declaration and part.name != function.symbol:
            part.linkage = "internal"
            part.add_function_attribute("alwaysinline")  # into the function of that symbol
    return bytes(module.as_bitcode())


def _linked(parts: Iterable[bytes]) -> Any:
    whole: Any = None
    for part in parts:
        module = llvm.parse_bitcode(part)
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    return whole


def _check(module: Any, exported: set[str]) -> None:
    """Raises TypeError for a function that may raise, which native code cannot."""
    for function in module.functions:
        if function.is_declaration and function.name.startswith("numba_"):
            users = sorted(part.name for part in module.functions if f"@{function.name}(" in str(part))
            names = ", ".join(name for name in users if name in exported) or ", ".join(users)
            raise TypeError(f"{names}: may raise, as a range does whose step may be 0: native functions cannot")


def _optimise(module: Any, target: Any) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.inlining_threshold = INLINING
    tuning.loop_vectorization = tuning.slp_vectorization = False
    passes = llvm.create_pass_builder(target, tuning)
    passes.getModulePassManager().run(module, passes)
