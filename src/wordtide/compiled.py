"""Decorators for compiled functions, which release the GIL and are cached on disk. Only this module imports
numba.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numba.extending
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
_ARITHMETIC: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "error_model": "numpy",  # a division that could raise an exception keeps its loop from the vector units
}
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


def is_cached(function: Callable[..., Any]) -> bool:
    """Whether the machine code of a kernel is kept for the next run."""
    return type(cast(Any, function)._cache).__name__ != "NullCache"


def inlined(function: Function) -> Function:
    """Like `kernel`, but copied into each kernel that calls it, for short functions that take arrays."""
    return cast(Function, numba.njit(inline="always", nogil=True)(function))


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
    try:
        return cast(Function, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # numba finds no folder that it can write: a read-only installation
        return cast(Function, numba.njit(**options)(function))


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
