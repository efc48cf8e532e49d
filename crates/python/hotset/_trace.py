"""Traces: files in any format that hotset reads, and arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: One pattern or several.
Patterns = str | Iterable[str]


class Trace:
    """What was referred to, in order. ``open`` makes one; it is read when something is asked of it."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.Trace) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """What rows and errors call the trace."""
        return self._native.name

    def __len__(self) -> int:
        """Requests. The first time a file is read to its end."""
        return len(self._native)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return repr(self._native)

    def info(self) -> dict[str, Any]:
        """Format, what offsets mean, requests, files, applications, and what the reader remarks."""
        return self._native.info()

    def filter(
        self,
        *,
        app: Patterns = (),
        file: Patterns = (),
        exclude: Patterns = (),
        ops: str | None = None,
        from_: str | int | None = None,
        to: str | int | None = None,
    ) -> Trace:
        """The trace with fewer requests, chosen as by the options ``--app``, ``--file``, ``--exclude``, ``--ops``,
        ``--from`` and ``--to`` of the command. Nothing is copied."""
        chosen: _native._Chosen = {
            "app": _list(app),
            "file": _list(file),
            "exclude": _list(exclude),
            "ops": ops,
            "from_": text_of(from_),
            "to": text_of(to),
        }
        return Trace(self._native.chosen_by(chosen))

    def to_numpy(self) -> NDArray[Any]:
        """The requests as a structured array: time in nanoseconds, offset (or the object's key), length, numbers of
        file, application, operation and kind, flags."""
        from ._arrays import REQUEST

        return self._native.words().view(REQUEST)


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
    would; or keys of objects: an array or iterable of whole numbers from 0 on, with ``sizes`` in bytes if these are
    known. An array of two columns is keys and sizes.

    ``format``, ``columns`` and ``skip_bad`` are the options of the command. ``name`` is what rows call the trace.
    """
    if isinstance(source, Trace):
        return source
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return Trace(_native.Trace.of_file(path, name or path, format, columns, skip_bad))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Trace(_native.Trace.of_bytes(bytes(source), name or "bytes", format, columns, skip_bad))
    if format is not None or columns is not None or skip_bad:
        raise TypeError("format, columns and skip_bad say how a file is read: leave them out with an array")
    from ._arrays import keys_of, sizes_of

    if sizes is None and getattr(source, "ndim", 1) == 2 and source.shape[1] == 2:
        source, sizes = source[:, 0], source[:, 1]
    keys = keys_of(source)
    told = None if sizes is None else sizes_of(sizes)
    if told is not None and len(told) != len(keys):
        raise ValueError(f"there are {len(keys)} keys and {len(told)} sizes: expected as many")
    return Trace(_native.Trace.of_keys(keys, told, name or "array"))


def text_of(value: object) -> str | None:
    """An option as the command has it."""
    return None if value is None else str(value)


def _list(patterns: Patterns) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)
