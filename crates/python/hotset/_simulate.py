"""Replays and curves. Options have the names, defaults and words of the command (``hotset simulate --help``)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Literal

from . import _native
from ._results import Results
from ._trace import Patterns, Trace, open, text_of

Maps = Literal["auto", "all", "none"]
Deletes = Literal["apply", "ignore"]
#: One spec, several between commas, or a list.
Specs = str | Iterable[str]
Sizes = str | int | Iterable[str | int]


def simulate(
    trace: Any,
    policies: Specs | None = None,
    sizes: Sizes | None = None,
    *,
    block: str | int | None = None,
    maps: Maps = "auto",
    memory: str | int | None = None,
    deletes: Deletes = "apply",
    classes: str | os.PathLike[str] | None = None,
    app: Patterns = (),
    file: Patterns = (),
    exclude: Patterns = (),
    ops: str | None = None,
    from_: str | int | None = None,
    to: str | int | None = None,
    warmup: str | int | None = None,
    count_only: str | None = None,
    store: str | None = None,
    every: str | int | None = None,
    explain: bool = False,
    seed: int = 1,
    keep_freed: bool = False,
    threads: int | None = None,
) -> Results:
    """Replays a trace, or whatever ``open`` takes, under policies at sizes: a row each, policy by policy.

    Without ``policies`` those that ``hotset simulate`` compares, without ``sizes`` six shares of the footprint. With
    ``every`` the results have rows of a series over time, too. ``threads`` defaults to one a core. Other threads of
    Python go on meanwhile, and Ctrl-C ends it.
    """
    chosen = _chosen(trace, app=app, file=file, exclude=exclude, ops=ops, from_=from_, to=to)
    kind, rows, series, remarks = _native.simulate(
        chosen._native,
        _joined(policies),
        _joined(sizes),
        _cut(block, maps, memory, deletes),
        {"warmup": text_of(warmup), "count_only": count_only},
        {
            "classes": None if classes is None else os.fspath(classes),
            "store": store,
            "every": text_of(every),
            "explain": explain,
            "seed": seed,
            "keep_freed": keep_freed,
            "threads": threads,
        },
    )
    return Results(_parsed(rows), kind, series=_parsed(series), remarks=remarks)


def curve(
    trace: Any,
    policies: Specs = "lru,opt",
    *,
    points: int | Literal["all"] = 20,
    sample: str | float | None = None,
    sample_size: int | None = None,
    block: str | int | None = None,
    maps: Maps = "auto",
    memory: str | int | None = None,
    deletes: Deletes = "apply",
    app: Patterns = (),
    file: Patterns = (),
    exclude: Patterns = (),
    ops: str | None = None,
    from_: str | int | None = None,
    to: str | int | None = None,
    warmup: str | int | None = None,
    count_only: str | None = None,
    seed: int = 1,
    threads: int | None = None,
) -> Results:
    """Hit ratios by size: LRU and OPT exactly at every size, other policies at ``points`` of them, or LRU from a sample."""
    chosen = _chosen(trace, app=app, file=file, exclude=exclude, ops=ops, from_=from_, to=to)
    if sample is not None and sample_size is not None:
        raise TypeError("sample and sample_size exclude each other: expected one of them")
    rows, remarks = _native.curve(
        chosen._native,
        _joined(policies) or "",
        _cut(block, maps, memory, deletes),
        {"warmup": text_of(warmup), "count_only": count_only},
        {
            "points": str(points),
            "sample": text_of(sample),
            "sample_size": sample_size,
            "seed": seed,
            "threads": threads,
        },
    )
    return Results(_parsed(rows), "curve", remarks=remarks)


def inspect(
    trace: Any,
    *,
    by: Literal["file", "dir", "app", "class", "object"] | None = None,
    top: int = 10,
    block: str | int | None = None,
    maps: Maps = "auto",
    memory: str | int | None = None,
    app: Patterns = (),
    file: Patterns = (),
    exclude: Patterns = (),
    ops: str | None = None,
    from_: str | int | None = None,
    to: str | int | None = None,
) -> dict[str, Any]:
    """What is in a trace: footprint, operations, sizes, sequences, applications, files, reuse distances, as
    ``hotset inspect --json`` has it. At most ``top`` of each ranking, one of them ``by`` something chosen."""
    chosen = _chosen(trace, app=app, file=file, exclude=exclude, ops=ops, from_=from_, to=to)
    (told,) = _parsed(_native.inspect(chosen._native, _cut(block, maps, memory, "apply"), by, top))
    return told


def _chosen(trace: Any, **filters: Any) -> Trace:
    opened = open(trace)
    is_given = any(value is not None and value != () for value in filters.values())
    return opened.filter(**filters) if is_given else opened


def _cut(block: str | int | None, maps: str, memory: str | int | None, deletes: str) -> _native._Cut:
    return {"block": text_of(block), "maps": maps, "memory": text_of(memory), "deletes": deletes}


def _joined(values: Any) -> str | None:
    if values is None or isinstance(values, str):
        return values
    if isinstance(values, Iterable):
        return ",".join(str(value) for value in values)
    return str(values)


def _parsed(lines: str) -> list[dict[str, Any]]:
    import json

    return [json.loads(line) for line in lines.splitlines()]
