"""The stored library of native functions: objects of machine code that llvmlite loads.

An object is built at its first use (:mod:`mcusim.native.build`) and kept (:mod:`mcusim.native.store`) under a key of
all it depends on (:mod:`mcusim.native.objects`). A function that is in neither, as a user's own, gets an object that is
held in memory alone.

Not modelled: unloading.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mcusim.native import store
from mcusim.native.declarations import COMPILED, EXTERNALS
from mcusim.native.objects import OBJECTS, object_of, target_machine
from mcusim.native.store import NativeObject

_addresses: dict[str, int] = {}
_loaded: dict[str, Any] = {}  # by object: llvmlite's, which hold the machine code
_former: list[Any] = []  # of objects that were loaded again


def address(symbol: str) -> int:
    """Where the machine code of a native function begins; loaded, or built first."""
    name = object_of(symbol)
    if symbol not in _addresses and name and name not in _loaded:
        _load(name, prepared(name))
    if symbol not in _addresses:
        load_apart(symbol, (symbol,))
    return _addresses[symbol]


def load_apart(name: str, symbols: tuple[str, ...]) -> None:
    """An object of these functions for this process alone, whatever other object has them."""
    _load(name, _build(name, symbols))


def load_stored(name: str, symbols: tuple[str, ...]) -> None:
    """An object of these functions, kept under that name, whatever other object has them."""
    _load(name, prepared(name, symbols))


def resolve_again() -> None:
    """Have the package's objects loaded anew when they are asked for: what they import lies elsewhere now. Who holds
    an address keeps what lies there."""
    _former.extend(_loaded.pop(name) for name in OBJECTS if name in _loaded)
    for symbol in [symbol for symbol in _addresses if object_of(symbol)]:
        del _addresses[symbol]
    for function in COMPILED:
        function.unload()


def prepared(name: str, symbols: tuple[str, ...] = ()) -> NativeObject:
    """An object as stored; built and stored where it is not, by one process at a time."""
    stored = store.read(name)
    if stored is None:
        with store.locked(name):
            stored = store.read(name)  # by who had the lock before
            if stored is None:
                stored = _build(name, symbols)
                store.write(name, stored)
    return stored


def _build(name: str, wanted: tuple[str, ...]) -> NativeObject:
    from mcusim.native.build import build

    return build(name, wanted)


def _load(name: str, made: NativeObject) -> None:
    import llvmlite.binding as llvm

    compiler = llvm.create_lljit_compiler(target_machine())
    builder = llvm.JITLibraryBuilder().add_current_process()
    for file in made.files:
        builder.add_object_img(file)
    for symbol, module in made.imports.items():
        import_module(module)
        builder.import_symbol(symbol, EXTERNALS[symbol].address)
    for symbol in made.exports:
        builder.export_symbol(symbol)
    tracker = builder.link(compiler, f"mcusim.{name}")
    _addresses.update((symbol, tracker[symbol]) for symbol in made.exports)
    _loaded[name] = compiler, tracker
