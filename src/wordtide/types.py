"""Names for the array types that the package passes around. Shapes are given in docstrings."""

from typing import Any

import numpy as np
import numpy.typing as npt

#: An array of any dtype.
Array = npt.NDArray[Any]
#: float64.
Floats = npt.NDArray[np.float64]
#: float32, the precision of stored vectors.
Singles = npt.NDArray[np.float32]
#: float32 or float64.
Reals = npt.NDArray[np.floating[Any]]
#: int64.
Integers = npt.NDArray[np.int64]
#: Integers of any width, signed or not.
Indices = npt.NDArray[np.integer[Any]]
#: Booleans.
Flags = npt.NDArray[np.bool_]
#: uint8: text as bytes.
Bytes = npt.NDArray[np.uint8]
