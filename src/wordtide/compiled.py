"""The one door to numba: compiled functions that release the GIL and are cached on disk.

Only modules that count or fit import this one, so reading a folder never pays for the compiler.
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
    """Compile on first call, keep the machine code for the next run, run without the GIL."""
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no folder can be written in which the code could be kept (see `is_cached`)
        return cast(Function, numba.njit(nogil=True)(function))


def arithmetic(function: Function) -> Function:
    """Like `kernel`, for floating-point loops: the compiler may reorder sums, so they run on vector units.

    The order is fixed when the code is compiled, so the same machine gives the same bits. NaN and infinity keep their
    meaning, and division by zero gives infinity.
    """
    try:
        return cast(Function, numba.njit(cache=True, **_ARITHMETIC)(function))
    except RuntimeError:
        return cast(Function, numba.njit(**_ARITHMETIC)(function))


def is_cached(function: Callable[..., Any]) -> bool:
    """Is the machine code of this kernel kept for the next run?"""
    return type(cast(Any, function)._cache).__name__ != "NullCache"


def inlined(function: Function) -> Function:
    """Like `kernel`, but copied into each kernel that calls it: passing arrays costs more than a short search in them."""
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


@kernel
def integer(value: Any) -> int:
    """A 64-bit signed integer inside compiled code, where a byte would stay a byte."""
    return np.int64(value)  # type: ignore[return-value]


def _load_eight_bytes(typing_context: Any, data: Any, at: Any) -> Any:
    del typing_context, at

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word = context.get_value_type(numba.uint64)
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), word.as_pointer())
        return builder.load(address, align=1)

    return numba.uint64(data, numba.int64), generate


#: `eight_bytes(data, at)` inside compiled code: `data[at:at + 8]` of a contiguous byte array as a little-endian 64-bit number, in
#: one instruction. The caller makes sure that the eight bytes exist.
eight_bytes: Any = numba.extending.intrinsic(_load_eight_bytes)
