"""Traces that are made: recorded, and mixed of several. Options have the names and defaults of the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _native
from ._files import refuse_inputs, written
from ._job import filtered
from ._options import FILTERS, Filters, takes, whole
from ._trace import Trace, open

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Recording(NamedTuple):
    """What came of recording a program."""

    trace: Trace
    #: The exit status of the program, as a shell has it.
    status: int
    #: What could not be recorded, and what else should be known.
    remarks: list[str]


def record(
    command: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    app_by: Literal["program", "process"] = "program",
    memory: bool = False,
) -> Recording:
    """Runs a program under strace and records its I/O, and that of all processes it starts, as the trace ``output``; with
    ``memory`` under valgrind what it does to its memory, which takes it far longer. On Linux alone.

    The program keeps the standard streams. A status other than 0 does not raise an error: check it.
    """
    if isinstance(command, (str, bytes)) or not command:
        raise TypeError('a command is a list of a program and its arguments: expected one such as ["make", "-j4"]')
    if sys.platform != "linux":
        raise _native.Error("programs are recorded on Linux alone: record there, and open the trace here")
    import json
    import subprocess
    import tempfile
    from pathlib import Path

    path = Path(output)
    with tempfile.TemporaryDirectory(prefix="hotset-record-") as folder:
        told = Path(folder, "told.json")
        asked = json.dumps([[os.fspath(word) for word in command], os.fspath(path), app_by, memory, os.fspath(told)])
        # A separate process: it handles signals for the program.
        ended = subprocess.run([sys.executable, "-m", "hotset._record_here", asked])
        if not told.exists():
            raise _native.Error(f"the recording of {command[0]} was ended by the status {ended.returncode}")
        answer = json.loads(told.read_text())
    if "error" in answer:
        raise _native.Error(answer["error"])
    return Recording(open(path), answer["status"], answer["remarks"])


@takes(Filters, FILTERS)
def mix(
    parts: Mapping[str, Any],
    output: str | os.PathLike[str],
    *,
    by: Literal["time", "request", "page"] = "time",
    start: Mapping[str, str] | None = None,
    loops: Mapping[str, int] | None = None,
    span: Mapping[str, str] | None = None,
    **filters: Unpack[Filters],
) -> Trace:
    """Makes one trace of the traces of several applications, as if they had run side by side, and writes it.

    ``parts`` has a trace, or whatever ``open`` takes, for the name of each application. The one with the earliest
    request since the start of its trace comes next, or with ``by="request"`` one request of each in turn, or with
    ``by="page"`` one page of 4 KB of each. An application may ``start`` so much later (``{"db": "10s"}``), pass over its trace in several ``loops``, and have its times stretched so
    that a pass takes a ``span``. The filters choose among the requests of each.
    """
    choice = whole(FILTERS, filters)
    for told in (start, span, loops):
        for name in told or ():
            if name not in parts:
                known = ", ".join(parts)
                raise _native.Error(f'the mix has no application "{name}": expected {known}')
    traces = {name: filtered(source, choice) for name, source in parts.items()}
    if not traces:
        raise _native.Error("no traces to mix: expected at least one")
    refuse_inputs(output, traces.values())
    given = [
        (name, trace._native, (loops or {}).get(name, 1), (start or {}).get(name), (span or {}).get(name))
        for name, trace in traces.items()
    ]
    written(output, lambda path: _native.mix(given, by, path))
    return open(output)
