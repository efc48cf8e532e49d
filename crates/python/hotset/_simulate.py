"""Replays and curves. Options have the names, defaults and words of the command (``hotset simulate --help``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from . import _native, _own
from ._job import counted_of, cut_of, filtered, job_of, joined, parsed
from ._options import COUNTING, READING, REPLAYING, Counting, Reading, Replaying, Sizes, Specs, takes, whole
from ._own import OwnPolicy
from ._progress import bar
from ._results import Results
from ._trace import text_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(Replaying, REPLAYING)
def simulate(
    trace: Any,
    policies: Specs | OwnPolicy | Iterable[str | OwnPolicy] | None = None,
    sizes: Sizes | None = None,
    *,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Unpack[Replaying],
) -> Results:
    """Replays a trace, or whatever ``open`` takes, under policies at sizes: a row each, policy by policy.

    Without ``policies`` those that ``hotset simulate`` compares, without ``sizes`` six shares of the footprint. With
    ``every`` the results have rows of a series over time, too. ``threads`` defaults to one a core. Other threads of
    Python go on meanwhile, and Ctrl-C ends it. Where tqdm is installed, ``progress`` shows how far it is: in notebooks
    and at a terminal it need not be asked for.

    A policy may be a class written in Python (see ``check``), which gets the numbers of blocks. Its rows lack what
    only the policies of the list tell, such as blocks written back.
    """
    runs = _own.split(policies)
    of_list = runs[0] if len(runs) == 1 and not callable(runs[0]) else None
    job = job_of(of_list, sizes, whole(REPLAYING, options))
    with bar(progress, "references") as shown:
        if not any(map(callable, runs)):
            rows, series, remarks = job.run(trace, threads=threads, told=shown.told)
        else:
            rows, series, remarks = _own.run(job, runs, trace, threads, shown.told)
    return Results(parsed(rows), series=parsed(series), remarks=remarks)


@takes(Counting, COUNTING)
def curve(
    trace: Any,
    policies: Specs | None = None,
    *,
    bytes: bool = False,
    points: int | Literal["all"] = 20,
    sample: str | float | None = None,
    sample_size: int | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | None = None,
    **options: Unpack[Counting],
) -> Results:
    """Hit ratios by size: LRU and OPT exactly at every size, other policies at ``points`` of them, or LRU from a sample.

    With ``bytes`` the sizes count bytes of objects of many sizes, and each row has a bound (PFOO-L); ``sample`` then
    applies to all policies. The default of ``policies`` is ``lru,opt``, over bytes ``lru``.
    """
    told = whole(COUNTING, options)
    chosen = filtered(trace, told)
    if sample is not None and sample_size is not None:
        raise TypeError("sample and sample_size exclude each other: expected one of them")
    drawn = policies if policies is not None else "lru" if bytes else "lru,opt"
    with bar(progress, "references") as shown:
        rows, remarks = _native.curve(
            chosen._native,
            joined(drawn) or "",
            cut_of(told),
            counted_of(told),
            {
                "bytes": bytes,
                "points": str(points),
                "sample": text_of(sample),
                "sample_size": sample_size,
                "seed": seed,
                "threads": threads,
            },
            shown.told,
        )
    return Results(parsed(rows), remarks=remarks)


@takes(Reading, READING)
def inspect(
    trace: Any,
    *,
    by: Literal["file", "dir", "app", "class", "object"] | None = None,
    top: int = 10,
    **options: Unpack[Reading],
) -> dict[str, Any]:
    """The content of a trace: footprint, operations, sizes, sequences, applications, files, reuse distances, as
    ``hotset inspect --json`` has it. At most ``top`` of each ranking, one of them ``by`` something chosen."""
    told = whole(READING, options)
    (row,) = parsed(_native.inspect(filtered(trace, told)._native, cut_of(told), by, top))
    return row


@takes(Reading, READING)
def advise(
    trace: Any,
    size: str | int | None = None,
    *,
    store: str | None = None,
    progress: bool | None = None,
    **options: Unpack[Reading],
) -> dict[str, Any]:
    """How much memory a cache should have, which policy, and what that gives, as ``hotset advise --json`` has it. With
    the memory that there is as ``size`` it tells what to do with that."""
    told = whole(READING, options)
    chosen = filtered(trace, told)
    with bar(progress, "references") as shown:
        advice, _ = _native.advise(chosen._native, text_of(size), store, cut_of(told), shown.told)
    (row,) = parsed(advice)
    return row
