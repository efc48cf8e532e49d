"""Arrays as the native side takes them. numpy is imported only where arrays are used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def keys_of(keys: Any) -> NDArray[np.uint64]:
    """Whole numbers, of any type that holds them, in one array of 64 bits."""
    import numpy as np

    if not isinstance(keys, np.ndarray):
        if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable):
            raise TypeError(f"keys are {type(keys).__name__}: expected an array or an iterable of whole numbers")
        keys = _array_of(keys)
    return _unsigned(keys, "keys", np.uint64)


def sizes_of(sizes: Any) -> NDArray[np.uint32]:
    """Sizes of objects in bytes."""
    import numpy as np

    sizes = sizes if isinstance(sizes, np.ndarray) else _array_of(sizes)
    return _unsigned(sizes, "sizes", np.uint32)


def _array_of(numbers: Iterable[Any]) -> NDArray[Any]:
    import numpy as np

    if hasattr(numbers, "__array__"):
        return np.asarray(numbers)
    listed = numbers if isinstance(numbers, (list, tuple, range)) else list(numbers)
    if len(listed) == 0:
        return np.empty(0, np.uint64)
    try:
        array = np.asarray(listed)
    except OverflowError:
        array = np.asarray(listed, dtype=object)
    if array.dtype.kind in "Of" and all(isinstance(number, int) for number in listed):
        # Numbers of both signs beyond 63 bits, which numpy makes floats or objects of.
        if min(listed) < 0:
            raise ValueError(f"keys hold {min(listed)}: expected numbers from 0 on")
        if max(listed) >= 1 << 64:
            raise ValueError(f"keys hold {max(listed)}: expected numbers below 2**64")
        array = np.asarray(listed, dtype=np.uint64)
    return array


def _unsigned(array: NDArray[Any], what: str, kind: Any) -> NDArray[Any]:
    import numpy as np

    if array.ndim != 1:
        raise ValueError(f"{what} have {array.ndim} dimensions: expected one")
    if array.dtype.kind not in "iu" and len(array) > 0:
        raise TypeError(f"{what} are of type {array.dtype}: expected whole numbers, such as uint64")
    if array.dtype.kind == "i" and len(array) > 0 and array.min() < 0:
        raise ValueError(f"{what} hold {array.min()}: expected numbers from 0 on")
    most = np.iinfo(kind).max
    if array.dtype.itemsize > np.dtype(kind).itemsize and len(array) > 0 and array.max() > most:
        raise ValueError(f"{what} hold {array.max()}: expected numbers up to {most}")
    if array.dtype.kind == "i" and array.dtype.isnative and array.dtype.itemsize == np.dtype(kind).itemsize:
        # None is negative, so they are the same bits.
        array = array.view(kind)
    return np.ascontiguousarray(array, dtype=kind)


#: A request of a trace, as `Trace.to_numpy` gives it: 32 bytes.
REQUEST = [
    ("time", "<u8"),
    ("offset", "<u8"),
    ("length", "<u4"),
    ("file", "<u4"),
    ("app", "<u4"),
    ("op", "u1"),
    ("kind", "u1"),
    ("flags", "<u2"),
]

#: A run of references to a page of memory, as `Trace.to_numpy` gives it.
RUN = [("page", "<u8"), ("references", "<u8"), ("writes", "<u8")]
