"""Experiments: figures of papers, and whatever else a file says that traces, policies and sizes are to be compared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _native
from ._job import parsed
from ._results import Results
from ._trace import open


def experiment(
    file: str | os.PathLike[str],
    *,
    traces: str | os.PathLike[str] | None = None,
    on: str | None = None,
    keep: str | os.PathLike[str] | None = None,
) -> Results:
    """The rows of an experiment file, trace by trace and mix by mix, as ``hotset experiment FILE --json`` writes them.

    Names of traces begin at ``traces``, at what ``HOTSET_TRACES`` names, or beside the file. ``on`` is that of
    ``sweep``, and so is ``keep``, for a cluster only; it has neither mixes nor series over time.
    """
    path = Path(file)
    read = _native.Experiment(path, path.read_text(encoding="utf-8"))
    below = traces if traces is not None else os.environ.get("HOTSET_TRACES")
    base = None if below is None else Path(below)
    if on is not None and on != "local":
        return _on_cluster(read, base, on, keep)
    if keep is not None:
        raise _native.Error('keep= applies to a cluster only: add on="ray"')
    # An address is fetched once, however often its trace is read.
    addresses = [str(place) for place in read.places(base) if "://" in str(place)]
    opened = {address: open(address)._native for address in addresses}
    rows, remarks = read.run(base, opened)
    return Results(parsed(rows), remarks=remarks)


def _on_cluster(
    read: _native.Experiment, base: Path | None, on: str, keep: str | os.PathLike[str] | None
) -> Results:
    """The rows of a sweep over a cluster, which names traces by their paths."""
    from ._sweep import sweep

    asked: Any = parsed(read.request(base))[0]
    results = sweep(asked["traces"], asked["policies"], asked["sizes"], on=on, keep=keep, **asked["options"])
    rows = iter(results)
    named = [{**next(rows), "trace": name} for name, count in zip(read.names(), results._per_trace) for _ in range(count)]
    return Results(named, remarks=results.remarks)
