"""Traces: files in any format that hotset reads, and arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _native
from ._optional import bring
from ._options import FILTERS, Filters, Patterns, takes, whole

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from numpy.typing import NDArray
    from typing_extensions import Unpack


class Trace:
    """References in order. ``open`` makes one; it is read when its content is needed."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.Trace) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """What rows and errors call the trace."""
        return self._native.name

    def __len__(self) -> int:
        """Requests, or runs of references to a page of memory. The first time a file is read to its end."""
        return len(self._native)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return repr(self._native)

    def info(self) -> dict[str, Any]:
        """Format, what offsets mean, requests, files, applications, and what the reader remarks. Of a trace of memory
        also references, writes among them, instructions and events of objects; its requests are runs of references."""
        return self._native.info()

    @takes(Filters, FILTERS)
    def filter(self, **filters: Unpack[Filters]) -> Trace:
        """The trace with fewer requests, chosen as by the options ``--app``, ``--file``, ``--exclude``, ``--ops``,
        ``--from`` and ``--to`` of the command. Nothing is copied."""
        told = whole(FILTERS, filters)
        chosen: _native._Chosen = {
            "app": _list(told["app"]),
            "file": _list(told["file"]),
            "exclude": _list(told["exclude"]),
            "ops": told["ops"],
            "from_": text_of(told["from_"]),
            "to": text_of(told["to"]),
        }
        return Trace(self._native.chosen_by(chosen))

    def __getitem__(self, part: slice) -> Trace:
        """The requests from one number up to another, as in ``to_numpy`` (``trace[1000:2000]``, ``trace[-500:]``), or from
        one time since the first request to another (``trace["10s":"1m"]``). Nothing is copied."""
        if not isinstance(part, slice):
            raise TypeError(f"a trace is cut by a slice, such as trace[1000:2000]: found {part!r}")
        if part.step not in (None, 1):
            raise ValueError(f"a part of a trace has all its requests: expected no step, found {part.step}")
        if isinstance(part.start, str) or isinstance(part.stop, str):
            return self.filter(from_=part.start, to=part.stop)
        from operator import index

        begin, end = 0 if part.start is None else index(part.start), None if part.stop is None else index(part.stop)
        if begin < 0 or end is not None and end < 0:
            begin, end, _ = part.indices(len(self))
        most = (1 << 64) - 1
        return Trace(self._native.part(min(begin, most), most if end is None else min(end, most)))

    # An object that supports only slices has no items to iterate.
    __iter__ = None

    def to_numpy(self) -> NDArray[Any]:
        """The requests as a structured array: time in nanoseconds, offset (or the object's key), length, numbers of
        file, application, operation and kind, flags. Of a trace of memory the runs of references to a page: its number,
        references, and how many of these write."""
        from ._arrays import REQUEST, RUN

        return self._native.words().view(RUN if self._native.is_of_memory else REQUEST)

    def to_arrow(self) -> pyarrow.Table:
        """The same as a ``pyarrow.Table`` (needs pyarrow)."""
        module = bring("pyarrow", "to_arrow", "hotset[arrow]")
        table: pyarrow.Table = module.table(self._columns())
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a ``pandas.DataFrame`` (needs pandas)."""
        module = bring("pandas", "to_pandas", "hotset[pandas]")
        table: pandas.DataFrame = module.DataFrame(self._columns(), copy=False)
        return table

    def to_polars(self) -> polars.DataFrame:
        """The same as a ``polars.DataFrame`` (needs polars)."""
        module = bring("polars", "to_polars", "polars")
        table: polars.DataFrame = module.DataFrame(self._columns())
        return table

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes it as a native trace, with its files and applications, as ``hotset import`` does; one of memory as a
        native trace of memory."""
        from ._files import refuse_inputs, written

        refuse_inputs(path, [self])
        written(path, lambda beside: _native.write(self._native, beside))

    def _columns(self) -> dict[str, NDArray[Any]]:
        import numpy as np

        requests = self.to_numpy()
        return {name: np.ascontiguousarray(requests[name]) for name in requests.dtype.names or ()}


def open(
    source: Any,
    sizes: Any = None,
    *,
    name: str | None = None,
    format: str | None = None,
    columns: str | None = None,
    skip_bad: bool = False,
) -> Trace:
    """A trace of a file, or of keys.

    ``source`` is a path, perhaps with its format in front (``"arc:trace.lis"``); ``bytes`` that hold what such a file
    would; or keys of objects: an array, series or iterable of whole numbers from 0 on, with ``sizes`` in bytes if these
    are known. An array of two columns is keys and sizes. Of a table (pandas, polars, Arrow) the column ``key`` is taken,
    or ``id``, ``obj_id`` or ``object``, or else the first, and ``size`` if it is there.

    An address such as ``s3://bucket/trace.zst`` is fetched as it is, with pyarrow.

    ``format``, ``columns`` and ``skip_bad`` are the options of the command. ``name`` is what rows call the trace.
    """
    if isinstance(source, Trace):
        return source
    if isinstance(source, str) and "://" in source:
        return Trace(_native.Trace.of_bytes(fetched(source), name or source, format, columns, skip_bad))
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return Trace(_native.Trace.of_file(path, name or path, format, columns, skip_bad))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Trace(_native.Trace.of_bytes(bytes(source), name or "bytes", format, columns, skip_bad))
    if format is not None or columns is not None or skip_bad:
        raise TypeError("format, columns and skip_bad say how a file is read: leave them out with an array")
    from ._arrays import keys_of, sizes_of

    names = getattr(source, "column_names", None) or getattr(source, "columns", None)
    if names is not None:
        source, sizes = _columns_of(source, [str(name) for name in names], sizes)
    elif sizes is None and getattr(source, "ndim", 1) == 2 and source.shape[1] == 2:
        source, sizes = source[:, 0], source[:, 1]
    keys = keys_of(source)
    told = None if sizes is None else sizes_of(sizes)
    if told is not None and len(told) != len(keys):
        raise ValueError(f"there are {len(keys)} keys and {len(told)} sizes: expected as many")
    return Trace(_native.Trace.of_keys(keys, told, name or "array"))


def _columns_of(table: Any, names: list[str], sizes: Any) -> tuple[Any, Any]:
    """The keys and sizes of a table."""
    import numpy as np

    if not names:
        raise ValueError("the table has no columns: expected one of keys")
    key = next((name for name in ("key", "id", "obj_id", "object") if name in names), names[0])
    if sizes is None and "size" in names and key != "size":
        sizes = np.asarray(table["size"])
    return np.asarray(table[key]), sizes


def fetched(address: str) -> bytes:
    """What lies at an address of an object store."""
    try:
        from pyarrow import fs
    except ImportError:
        raise _native.Error(f"{address}: an address needs pyarrow: expected a path, or pip install pyarrow") from None
    system, path = fs.FileSystem.from_uri(address)
    with system.open_input_stream(path, compression=None) as stream:
        content: bytes = stream.read()
    return content


def about(address: str) -> tuple[int, int | None]:
    """Bytes at an address, and when they changed."""
    from pyarrow import fs

    system, path = fs.FileSystem.from_uri(address)
    info = system.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        raise FileNotFoundError(f"{address}: there is nothing")
    return int(info.size), info.mtime_ns


def text_of(value: object) -> str | None:
    """An option as the command has it."""
    return None if value is None else str(value)


def _list(patterns: Patterns) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)
