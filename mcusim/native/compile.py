"""How this package compiles its native functions.

Each is compiled for the types its annotations name (a struct, ``Words``, ``int``: int64); left to
itself numba would compile a copy for every mix of integer types it is called with. ``_nrt=False``: no function here
allocates, and without it every call counts references to the array.

Most functions are called by other native functions only. Such a part is translated to LLVM's code, but neither
optimised nor made into machine code of its own: that happens once, in the function that Python or Unicorn calls, with
all its parts; numba would do it for each function with everything below it. What is called is compiled at its first
call and kept on disk. A part that many functions have, and that takes long to optimise, is :func:`shared`: compiled
once, and called by its address.

Not modelled: recursion, and calls by keyword from native code.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
from numba import config, types
from numba.core import caching, ccallback, codegen, compiler, funcdesc, runtime, typing
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from mcusim.native.call_graph import called
from mcusim.native.compile_progress import compiling
from mcusim.native.stale_code import forget_outdated
from mcusim.native.struct_views import register, view_of
from mcusim.native.structs import Struct
from mcusim.native.words import INT64_WORDS

_SOURCES = forget_outdated()

_options: dict[str, Any] = {"nopython": True, "error_model": "numpy", "_nrt": False, "boundscheck": None}
F = TypeVar("F", bound=Callable[..., Any])

_TYPES = {
    "Words": INT64_WORDS,
    "int": types.int64,
    "None": types.void,
    "tuple[int, int]": types.UniTuple(types.int64, 2),  # type: ignore[no-untyped-call]
}

# numba's own classes are untyped
_FunctionCache: Any = caching.FunctionCache
_Library: Any = codegen.JITCodeLibrary
_Dispatcher: Any = CPUDispatcher
_Compiler: Any = compiler.Compiler
_CFunc: Any = ccallback.CFunc
_compiling: Any = compiler
_Description: Any = funcdesc.FunctionDescriptor
_llvm: Any = llvm
_typing: Any = typing
_runtime: Any = runtime
_config: Any = config


class _StoredCode(_FunctionCache):  # type: ignore[misc]
    """Code on disk that is found again only by the sources it was made of, all of them."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), _SOURCES)


class _PartLibrary(_Library):  # type: ignore[misc]
    """Code of a function for those that call it: linked with its own parts, neither optimised nor loaded."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if library is not _runtime.rtsys.library:
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _EntryLibrary(_Library):  # type: ignore[misc]
    """Code that is called from outside. Optimised in one pass: numba has one before it, for counting references."""

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False)
        passes.run(self._final_module, builder)


class _NativeCompiler(_Compiler):  # type: ignore[misc]
    """numba's compiler, with a :class:`_EntryLibrary` to put the code in."""

    def __init__(self, typing_: Any, target: Any, library: Any, *rest: Any) -> None:
        if library is None:
            library = _EntryLibrary(target.codegen(), "whole")
            library.enable_object_caching()
        super().__init__(typing_, target, library, *rest)

    def compile_extra(self, func: Any) -> Any:
        with compiling(func.__name__.strip("_")):
            return super().compile_extra(func)


class Native(_Dispatcher):  # type: ignore[misc]
    """A native function: called from Python its machine code runs; called from another it becomes a part of that.

    ``described`` is its signature: None, the one of its annotations.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], described: Any = None) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=_NativeCompiler)
        self.described = described or _annotated(function)
        self._part: Any = None
        self._entry: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call its machine code, compiled or loaded first."""
        return (self._entry or self.prepare())(*arguments)

    def enable_caching(self) -> None:
        """Keep compiled code on disk. Raises RuntimeError where there is no folder for it."""
        self._cache = _StoredCode(self.py_func)

    def prepare(self) -> Any:
        """Compile what Python calls, or load it from disk; returns that."""
        _prepare_shared(self.py_func)
        register()
        self._entry = self.compile(self.described)
        self.disable_compile()
        return self._entry

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """numba's hook for a first call from Python."""
        return self.prepare()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """numba's hook in type inference: how another native function calls this one."""
        python_signature, args = self._compiler.fold_argument_types(args, kws)
        self._translate()
        name = self.py_func.__name__
        template = _typing.make_concrete_template(f"CallTemplate({name})", key=name, signatures=[self.described])
        return template, python_signature, args, {}

    def get_overload(self, sig: Any) -> Any:
        """numba's hook in lowering: the key that the part is registered under."""
        return self._translate()

    def _translate(self) -> Any:
        with global_compiler_lock:
            if self._part is None:
                register()
                flags = _compiling.Flags()
                self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
                flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
                library = _PartLibrary(self.targetctx.codegen(), self.py_func.__qualname__)
                kinds = self.described.args, self.described.return_type
                made = _compiling.compile_extra(
                    self.typingctx, self.targetctx, self.py_func, *kinds, flags, {}, library
                )
                self._part = made.fndesc.unique_name
                self.targetctx.insert_user_function(self._part, made.fndesc, [made.library])
            return self._part


class Shared(Native):
    """A native function that is compiled once for all native functions that call it, by a symbol with its address."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], described: Any = None) -> None:
        super().__init__(function, options, described)
        self.symbol = f"{function.__module__}.{function.__qualname__}"

    def prepare(self) -> Any:
        """Compile it, or load it from disk; from then on its symbol is known to whatever is loaded."""
        if self._entry is None:
            super().prepare()
            made = self.overloads[self.described.args]
            _llvm.add_symbol(self.symbol, made.library.get_pointer_to_function(made.fndesc.llvm_func_name))
        return self._entry

    def _translate(self) -> Any:
        """Only declared for callers."""
        if self._part is None:
            self._part = self.symbol
            names = tuple(signature(self.py_func).parameters)
            module, name = self.py_func.__module__, self.py_func.__qualname__
            types_ = None, self.described.return_type, None
            mangler = lambda *_, **__: self.symbol  # noqa: E731
            description = _Description(
                True, module, name, self.symbol, None, *types_, names, (), mangler, self.described.args
            )
            self.targetctx.insert_user_function(self._part, description)
        return self._part


def _prepare_shared(function: Callable[..., Any]) -> None:
    """The symbols of all shared functions that are called, at whatever depth, before code with them is loaded."""
    seen, waiting = set[Any](), [function]
    while waiting:
        for shared in called(waiting.pop(), Native):
            if isinstance(shared, Shared):
                shared.prepare()
            elif shared not in seen:
                seen.add(shared)
                waiting.append(shared.py_func)


def _annotated(function: Callable[..., Any]) -> Any:
    described = signature(function)
    arguments = (_type_of(function, parameter.annotation) for parameter in described.parameters.values())
    return _type_of(function, described.return_annotation)(*arguments)


def _type_of(function: Any, annotation: object) -> Any:
    kind = function.__globals__.get(str(annotation))
    return view_of(kind) if isinstance(kind, type) and issubclass(kind, Struct) else _TYPES[str(annotation)]


class Callback:
    """A function that C code calls, compiled (or loaded from disk) when its address is first asked for."""

    def __init__(self, function: Callable[..., Any], described: Any) -> None:
        self.py_func = function
        kinds = described.args, described.return_type
        self._made = _CFunc(function, kinds, {}, {**_options}, pipeline_class=_NativeCompiler)
        with suppress(RuntimeError):  # no folder to keep compiled code in
            self._made._cache = _StoredCode(function)
        self._compiled = False

    def prepare(self) -> Any:
        """Compile it, or load it from disk."""
        if not self._compiled:
            _prepare_shared(self.py_func)
            register()
            self._made.compile()
            self._compiled = True
        return self._made

    @property
    def address(self) -> int:
        """Where its machine code begins."""
        return int(self.prepare().address)


COMPILED: list[Native | Callback] = []
"""Every native function of the modules that are loaded."""


def native(function: F) -> F:
    """Compiled with the signature from the annotations, numpy's error model and the on-disk cache."""
    return _native(function, _options)


def inlined(function: F) -> F:
    """:func:`native`, written out wherever it is called: for what is called for every access, from few places."""
    return _native(function, {**_options, "forceinline": True})


def shared(function: F) -> F:
    """:func:`native`, compiled once and called by its address from the native functions that name it."""
    return _in_python(function) if _config.DISABLE_JIT else _kept(Shared(function, _options))


def native_as(described: Any) -> Callable[[F], F]:
    """:func:`native` for numba's signature ``described``, where annotations have no word for its types."""
    return lambda function: _native(function, _options, described)


def shared_as(described: Any) -> Callable[[F], F]:
    """:func:`shared` for numba's signature ``described``."""

    def made(function: Any) -> Any:
        return _in_python(function) if _config.DISABLE_JIT else _kept(Shared(function, _options, described))

    return made


def callback(described: Any) -> Callable[[Callable[..., Any]], Callback]:
    """A decorator for a function of numba's signature ``described`` that C code calls."""

    def made(function: Callable[..., Any]) -> Callback:
        COMPILED.append(Callback(function, described))
        return cast(Callback, COMPILED[-1])

    return made


def _native(function: F, options: dict[str, Any], described: Any = None) -> F:
    return _in_python(function) if _config.DISABLE_JIT else cast(F, _kept(Native(function, options, described)))


def _in_python(function: F) -> F:
    """``function`` that takes an array for a root, and a root for its words, as native code does."""
    kinds = [function.__globals__.get(str(p.annotation)) for p in signature(function).parameters.values()]
    roots = [kind if isinstance(kind, type) and issubclass(kind, Struct) and kind.ROOT else None for kind in kinds]

    def rooted(root: type[Struct] | None, argument: Any) -> Any:
        if root is not None:
            return argument if isinstance(argument, Struct) else root(argument)
        return argument

    @wraps(function)
    def called(*arguments: Any) -> Any:
        return function(*map(rooted, roots, arguments))

    return cast(F, called)


def _kept(made: Native) -> Any:
    """``made``, with its place on disk."""
    with suppress(RuntimeError):  # no folder to keep compiled code in: neither the package's nor the user's
        made.enable_caching()
    COMPILED.append(made)
    return made
