"""Decorators for compiled functions, which release the GIL and are cached on disk.

Only this module imports numba.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.event import Listener, install_listener

Function = TypeVar("Function", bound=Callable[..., Any])
_ARITHMETIC: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "error_model": "numpy",  # a division that could raise an exception keeps its loop from the vector units
}
_LEAF: dict[str, Any] = {"nogil": True, "forceinline": True, "_nrt": False}
_ELEMENTARY: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}


def kernel(function: Function) -> Function:
    """Compile a function on its first call, without the GIL.

    Numba caches the machine code for the next run.
    """
    return _cached(function, {"nogil": True})


def arithmetic(function: Function) -> Function:
    """Like `kernel`, for floating-point loops: the compiler may reorder sums, so they run on vector units.

    The order is fixed at compile time, so one machine always gives the same bits. NaN and infinity keep their
    meaning, and division by zero gives infinity.
    """
    return _cached(function, _ARITHMETIC)


def contained(function: Function) -> Function:
    """Like `arithmetic`, for functions that kernels call: each kernel contains their code.

    Otherwise a process may hold several copies, each with its own order of sums, and which one runs depends
    on whether the kernel was compiled in this process or loaded.
    """
    return cast(Function, numba.njit(**_ARITHMETIC, forceinline=True)(function))


def is_cached(function: Callable[..., Any]) -> bool:
    """Whether the machine code of a kernel is kept for the next run."""
    return type(cast(Any, function)._cache).__name__ != "NullCache"


@contextmanager
def notice_of_compiling(notice: Callable[[], None]) -> Iterator[None]:
    """Within the block, call a function once before the first kernel is compiled, because that takes long.

    It is not called if all kernels that are used are in the cache.
    """
    with install_listener("numba:compile", _Notice(notice)):
        yield


class _Notice(Listener):
    def __init__(self, notice: Callable[[], None]) -> None:
        self._notice: Callable[[], None] | None = notice

    def on_start(self, event: object) -> None:
        notice, self._notice = self._notice, None
        if notice is not None:
            notice()

    def on_end(self, event: object) -> None:
        pass


def inlined(function: Function) -> Function:
    """Like `kernel`, but copied into each kernel that calls it, for short functions that take arrays."""
    return cast(Function, numba.njit(inline="always", nogil=True)(function))


def leaf(function: Function) -> Function:
    """Like `inlined`, for functions that take arrays in inner loops and make none.

    `inlined` functions count references to the arrays that they take, with an atomic instruction for each,
    which takes longer than many a short function.
    """
    return cast(Function, numba.njit(**_LEAF)(function))


def elementary(function: Function) -> Function:
    """Like `inlined`, for functions of numbers: loops that call them run on vector units.

    Operations keep their order, and division by zero gives infinity instead of an exception.
    """
    return cast(Function, numba.njit(**_ELEMENTARY)(function))


def by_precision(single: Function, double: Function) -> Function:
    """Combine two `elementary` functions of one number: `single` computes in float32, `double` in float64."""

    def choose(x: Any) -> Any:
        return single(x) if isinstance(x, np.float32) else double(x)

    @numba.extending.overload(choose, jit_options=_ELEMENTARY)  # type: ignore[arg-type]
    def choose_when_compiling(x: Any) -> Callable[[Any], Any]:
        chosen = single if x == numba.float32 else double

        def run(x: Any) -> Any:
            return chosen(x)

        return run

    return cast(Function, elementary(lambda x: choose(x)))


def _cached(function: Function, options: dict[str, Any]) -> Function:
    compiled: Any = numba.njit(**options)(function)
    with suppress(RuntimeError):  # numba finds no folder that it can write: a read-only installation
        compiled._cache = _KernelCache(compiled)
    return cast(Function, compiled)


class _KernelCache(FunctionCache):
    """Numba's cache, which also notices changes in what a kernel calls.

    Numba itself compares the kernel's own file only. After an upgrade it would run a kernel whose file is the
    same with the old code of functions from other files.
    """

    def __init__(self, compiled: Any) -> None:
        super().__init__(compiled.py_func)  # type: ignore[no-untyped-call]
        self._compiled = compiled
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _KernelFiles(self._cache_path, self._impl.filename_base, stamp)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        key = super()._index_key(sig, codegen)  # type: ignore[no-untyped-call]
        return (*key, kernel_fingerprint(self._compiled))


class _KernelFiles(IndexDataCacheFile):
    """A file for each variant of a kernel. Its name follows from all that the machine code depends on.

    Numba numbers these files, and writes an index of them before the file itself. So a process that is killed
    in between, and two processes that compile at the same time, leave an index that leads to the code of an
    older source or of other types, which later runs would use.
    """

    def __init__(self, folder: str, base: str, stamp: Any) -> None:
        super().__init__(folder, base, stamp)  # type: ignore[no-untyped-call]
        self._base = base
        self._source = _short_hash((stamp, numba.__version__))

    def save(self, key: Any, data: Any) -> None:
        self._save_data(self._name_of(key), (key, data))  # type: ignore[no-untyped-call]
        for path in Path(self._cache_path).glob(f"{self._base}.*nb[ci]"):
            if not path.name.startswith(f"{self._base}.{self._source}-"):  # of an older source
                path.unlink(missing_ok=True)

    def load(self, key: Any) -> Any:
        with suppress(OSError, EOFError):
            known, data = self._load_data(self._name_of(key))  # type: ignore[no-untyped-call]
            return data if known == key else None
        return None

    def _name_of(self, key: Any) -> str:
        return f"{self._base}.{self._source}-{_short_hash(key)}.nbc"


def _short_hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def kernel_fingerprint(compiled: Callable[..., Any]) -> str:
    """A hash of all that a kernel is compiled from.

    It covers code, options and constants of the kernel and of the functions that it calls, in any file.
    """
    digest = hashlib.sha256()
    for function in (compiled, by_precision):  # numba alone finds the code that `by_precision` registers
        for part in _ingredients(function, set()):
            digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def _ingredients(value: Any, seen: set[Any]) -> Iterator[str]:
    """What compiled code takes from a function, its code, or a value of its module, as texts."""
    if hasattr(value, "targetoptions"):
        options = value.targetoptions.items()
        yield repr(sorted((name, sorted(to) if isinstance(to, set) else to) for name, to in options))
    value = getattr(value, "py_func", getattr(value, "_defn", value))  # of a kernel, of an intrinsic
    if isinstance(value, FunctionType):
        if value not in seen and not value.__module__.startswith(("numba.", "numpy.")):
            seen.add(value)
            yield value.__qualname__
            yield from _ingredients(value.__code__, seen)
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            used = [value.__globals__.get(name) for name in _names(value.__code__)]
            for other in [value.__defaults__, *cells, *used]:
                yield from _ingredients(other, seen)
    elif isinstance(value, CodeType):
        yield value.co_code.hex()
        yield repr(value.co_names)
        for constant in value.co_consts:
            yield from _ingredients(constant, seen)
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, frozenset):
        yield repr(sorted(map(repr, value)))
    elif isinstance(value, type):
        yield f"{value} {getattr(value, '_fields', '')}"  # of a named tuple
    elif isinstance(value, (int, float, complex, str, bytes, tuple, np.generic, np.dtype)):
        yield repr(value)


def _names(code: CodeType) -> list[str]:
    """The global names in a function's code and in that of functions inside it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [*code.co_names, *(name for part in inner for name in _names(part))]


@kernel
def integer(value: Any) -> int:
    """Convert to a 64-bit signed integer inside compiled code, where a byte would stay a byte."""
    return np.int64(value)  # type: ignore[return-value]


def _load_eight_bytes(typing_context: Any, data: Any, at: Any) -> Any:
    del typing_context, at

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word = context.get_value_type(numba.uint64)
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), word.as_pointer())
        return builder.load(address, align=1)

    return numba.uint64(data, numba.int64), generate


#: `eight_bytes(data, at)` inside compiled code: `data[at:at + 8]` of a contiguous byte array as a
#: little-endian 64-bit number, in one instruction. The caller ensures that the eight bytes exist.
eight_bytes: Any = numba.extending.intrinsic(_load_eight_bytes)


def _count_trailing_zeros(typing_context: Any, number: Any) -> Any:
    del typing_context, number

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        return builder.cttz(arguments[0], context.get_constant(numba.boolean, False))

    return numba.uint64(numba.uint64), generate


#: `trailing_zeros(number)` inside compiled code: how many bits of a 64-bit number are zero below its lowest
#: one; 64 if all are zero.
trailing_zeros: Any = numba.extending.intrinsic(_count_trailing_zeros)


def _fetch_early(typing_context: Any, data: Any, at: Any) -> Any:
    del typing_context

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), pointer)
        takes = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], takes)
        builder.call(fetch, [address, number(0), number(3), number(1)])  # to read, to be kept, data
        return context.get_dummy_value()

    return numba.void(data, at), generate


#: `fetch_early(data, at)` inside compiled code: load `data[at]` of a contiguous array into the cache, because
#: it will be needed soon. It does nothing if there is no such item.
fetch_early: Any = numba.extending.intrinsic(_fetch_early)
