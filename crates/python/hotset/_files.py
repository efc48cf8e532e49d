"""Files that are written: never one that is read for it, and never half of one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from ._trace import Trace


def refuse_inputs(output: str | os.PathLike[str], traces: Iterable[Trace]) -> None:
    """Refuses to write over a file that one of these traces is read from."""
    for trace in traces:
        for path in trace._native.files:
            if os.path.exists(output) and os.path.samefile(path, output):
                raise _native.Error(f"cannot write {os.fspath(output)}: it is the same file as the input {path}")


def written(output: str | os.PathLike[str], write: Callable[[str], object]) -> None:
    """Writes a file: it appears, or replaces what was there, when that is done."""
    import tempfile

    shown = os.fspath(output)
    if os.path.isdir(output):
        raise IsADirectoryError(f"cannot write {shown}: it is a directory; expected the name of a file")
    folder, name = os.path.split(os.path.abspath(output))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"cannot write {shown} into the directory {folder}: there is none")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".hotset-") as beside:
        temporary = os.path.join(beside, name)
        write(temporary)
        os.replace(temporary, output)
