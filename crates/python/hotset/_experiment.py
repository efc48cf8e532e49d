"""Experiments: figures of papers, and whatever else a file says that traces, policies and sizes are to be compared."""

from __future__ import annotations

import os
from collections.abc import Mapping

from . import _native
from ._job import parsed
from ._results import Results

#: The command, where it is not ``hotset`` among the programs.
_COMMAND = "HOTSET"


def experiment(
    file: str | os.PathLike[str],
    *,
    traces: str | os.PathLike[str] | None = None,
    on: str | None = None,
    keep: str | os.PathLike[str] | None = None,
) -> Results:
    """The rows of an experiment file, trace by trace and mix by mix, as ``hotset experiment FILE --json`` writes them.

    It runs the command, which knows what such a file may say: ``hotset`` among the programs, or what the environment
    names in ``HOTSET``. Names of traces begin at ``traces``, at what ``HOTSET_TRACES`` names, or beside the file. ``on``
    is that of ``sweep``, and so is ``keep``, for a cluster only; it has neither mixes nor series over time.
    """
    given: Mapping[str, str | os.PathLike[str] | None] = {"--traces": traces, "--on": on, "--keep": keep}
    typed = [word for name, value in given.items() if value is not None for word in (name, os.fspath(value))]
    lines, remarks = _told(["experiment", "--json", "-", *typed, "--", os.fspath(file)])
    rows = parsed(lines)
    return Results(rows, "paging" if any("faults_after_fill" in row for row in rows) else "cache", remarks=remarks)


def _told(arguments: list[str]) -> tuple[str, list[str]]:
    """The output of the command, and its remarks."""
    import subprocess
    import sys

    command = os.environ.get(_COMMAND) or "hotset"
    # Over a cluster it is this package that it asks.
    environment = {"HOTSET_PYTHON": sys.executable, **os.environ}
    try:
        done = subprocess.run([command, *arguments], env=environment, capture_output=True, text=True)
    except OSError as error:
        raise _native.Error(
            f"an experiment needs the command {command}, which cannot be started ({error.strerror}): expected it among "
            f"the programs, or its name in {_COMMAND}"
        ) from error
    if done.returncode != 0:
        *_, why = done.stderr.strip().rpartition("hotset: ")
        raise _native.Error(why or f"{command} ended with the status {done.returncode}")
    return done.stdout, [line.removeprefix("hotset: ") for line in done.stderr.splitlines()]
