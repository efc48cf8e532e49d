"""Sweeps: traces, policies and sizes, on the cores of this machine or over a cluster of Ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from . import _native
from ._job import Job, Named, Swept, filtered, job_of, parsed
from ._options import REPLAYING, Replaying, Sizes, Specs, takes, whole
from ._packing import Node, Piece, Work, packed
from ._progress import bar
from ._results import Results
from ._trace import Trace, about

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from typing_extensions import Unpack

    from ._kept import Kept

#: References of a trace that are held, by default. Rows tell distinct blocks where all are, so it must not depend on the
#: machine.
MEMORY = "4G"
SWEEPING: Replaying = {**REPLAYING, "memory": MEMORY}
#: Traces that are looked at in one go.
_LOOKS = 64


class Where(Protocol):
    """What runs the pieces."""

    def nodes(self) -> list[Node]: ...
    def each(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]: ...
    def run(self, sources: Sequence[Any], job: Job, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Swept]]: ...


class Look(NamedTuple):
    """The facts of a trace that are needed in advance."""

    name: str
    identity: str
    trace_bytes: int
    is_of_memory: bool


@takes(Replaying, SWEEPING)
def sweep(
    traces: Any,
    policies: Specs | None = None,
    sizes: Sizes | None = None,
    *,
    on: str | None = None,
    keep: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **options: Unpack[Replaying],
) -> Results:
    """Replays many traces under policies at sizes: the rows of ``simulate``, trace by trace, whatever ran them.

    ``on`` says where: ``"local"`` (or None) on all cores of this machine; ``"ray"`` over the cluster of Ray that this
    machine is part of, or a new one of this machine alone; ``"ray://HOST:PORT"`` over another. Every node must have this
    version of hotset, and see the traces under the same paths.

    With a folder ``keep`` what is done is kept there, and a sweep that was interrupted, or has more traces than before,
    goes on from there. Kept results count only for the same trace (by size, time of change, its selection and
    how it is read), policies, sizes, options and version.

    ``memory`` bounds what is held of each trace, as ``--memory`` does, and does not depend on the machine. The other
    options are those of ``simulate``.
    """
    if callable(policies) or not isinstance(policies, str) and any(map(callable, policies := list(policies or ()))):
        raise _native.Error("a sweep has policies of the list alone: give simulate those that are written in Python")
    told = whole(SWEEPING, options)
    if told["classes"] is not None:
        told["classes"] = os.path.abspath(told["classes"])
    job = job_of(policies, sizes, told)
    # Wrong arguments are refused before anything is started.
    _native.planned(None, job.sizes, False)
    # What only sweeps need is imported by those alone.
    from ._kept import Kept
    from ._local import Local

    sources = _listed(traces)
    kept = None if keep is None else Kept(keep)
    with _where(on) as where:
        if not isinstance(where, Local):
            sources = [_anywhere(source) for source in sources]
        return _Sweep(where, sources, job, kept).run(progress)


def _listed(traces: Any) -> list[Any]:
    """The traces, each as ``open`` takes it, or by path and name. A single one is one."""
    if isinstance(traces, (str, bytes, os.PathLike, Trace)) or not isinstance(traces, Iterable):
        traces = [traces]
    listed = [os.fspath(trace) if isinstance(trace, os.PathLike) else trace for trace in traces]
    if not listed:
        raise _native.Error("no traces to sweep over: expected at least one")
    if all(isinstance(trace, int) or getattr(trace, "ndim", 1) == 0 for trace in listed):
        raise TypeError("traces are whole numbers: expected a list of traces, such as [keys] for one of an array of keys")
    return listed


def _anywhere(source: Any) -> Any:
    """The same, as a process in another folder finds it."""
    if not isinstance(source, str) or "://" in source:
        return source
    prefix, colon, path = source.rpartition(":") if not os.path.exists(source) else ("", "", source)
    return Named(prefix + colon + os.path.abspath(path), source)


def _where(on: str | None) -> AbstractContextManager[Where]:
    if on is None or on == "local":
        from ._local import Local

        return Local()
    if on == "ray" or on.startswith("ray://"):
        from ._ray import Cluster

        return Cluster(on)
    raise _native.Error(f"on: {on!r} is not known: expected local, ray or ray://HOST:PORT")


def look(source: Any, filters: dict[str, Any], must_be_same: bool) -> Look:
    """Looks at a trace. Its content is read only if it must be identified and is not in a file."""
    if isinstance(source, str) and "://" in source:
        # Fetched once, at the place of the replay: traces of memory are identified by their files.
        size, changed = about(source)
        return Look(source, f"{size} bytes, {changed}", size, False)
    trace = filtered(source, filters)
    native = trace._native
    paths = native.files
    if paths:
        seen = [os.stat(path) for path in paths]
        # A selection of the files, or a mix, is another trace than the files are.
        identity = "; ".join([*(f"{one.st_size} bytes, {one.st_mtime_ns}" for one in seen), native.made_of])
        return Look(trace.name, identity, sum(one.st_size for one in seen), native.is_of_memory)
    import hashlib

    requests = trace.to_numpy()
    identity = hashlib.sha256(requests.tobytes()).hexdigest() if must_be_same else ""
    return Look(trace.name, identity, requests.nbytes // 8, native.is_of_memory)


def looks(sources: Sequence[Any], filters: dict[str, Any], must_be_same: bool) -> tuple[str, list[Look]]:
    """Looks at traces, on some node: the version of hotset there, and what there is to know."""
    return _native.__version__, [look(source, filters, must_be_same) for source in sources]


class _Sweep:
    """A sweep that runs."""

    def __init__(self, where: Where, sources: Sequence[Any], job: Job, kept: Kept | None) -> None:
        self._where, self._sources, self._job, self._kept = where, sources, job, kept
        #: By trace, what is done: by its first policy.
        self._done: list[dict[int, Swept]] = [{} for _ in sources]
        self._keys: list[str] = []

    def run(self, progress: bool | None) -> Results:
        seen = self._look()
        works = [work for number in range(len(seen)) for work in self._left(number, seen[number])]
        with bar(progress, "policies", sum(work.last - work.first for work in works)) as shown:
            if works:
                pieces = packed(works, self._where.nodes(), self._most_bytes())
                for piece, swept in self._where.run(self._sources, self._job, pieces):
                    if swept.is_of_memory != seen[piece.trace].is_of_memory:
                        name = seen[piece.trace].name
                        raise _native.Error(f"{name} is a trace of memory: expected its path, not an address")
                    self._done[piece.trace][piece.first] = swept
                    if self._kept is not None:
                        self._kept.keep(self._keys[piece.trace], piece.first, piece.last, swept)
                    shown.advance(piece.last - piece.first)
        return self._told()

    def _look(self) -> list[Look]:
        """Looks at all traces, where they are."""
        is_kept = self._kept is not None
        groups = [self._sources[at : at + _LOOKS] for at in range(0, len(self._sources), _LOOKS)]
        seen: list[Look] = []
        for version, told in self._where.each(looks, [(group, self._job.filters, is_kept) for group in groups]):
            if version != _native.__version__:
                ours = _native.__version__
                raise _native.Error(f"a node of the cluster has hotset {version}, and this is {ours}: expected the same")
            seen += told
        if len({trace.is_of_memory for trace in seen}) > 1:
            of_memory = next(trace.name for trace in seen if trace.is_of_memory)
            raise _native.Error(f"{of_memory} is a trace of memory, which has its own policies: sweep over it apart")
        return seen

    def _left(self, number: int, trace: Look) -> list[Work]:
        """The part of a sweep over a trace that is not done yet."""
        from ._kept import key_of

        policies = _native.planned(self._job.policies, self._job.sizes, trace.is_of_memory)
        self._keys.append(key_of(_native.__version__, trace.name, trace.identity, policies, self._job[1:]))
        at, works = 0, []
        for first, last, swept in self._kept.parts(self._keys[number]) if self._kept is not None else []:
            works.append((at, first))
            self._done[number][first] = swept
            at = last
        works.append((at, len(policies)))
        return [
            Work(number, first, last, trace.trace_bytes, not trace.is_of_memory)
            for first, last in works
            if first < last
        ]

    def _most_bytes(self) -> int:
        return _native.bytes_of(self._job.cut["memory"] or MEMORY)

    def _told(self) -> Results:
        """All rows in the order in which they were asked for."""
        parts = [[done[first] for first in sorted(done)] for done in self._done]
        rows = [[row for part in of_trace for row in parsed(part.rows)] for of_trace in parts]
        series = [row for of_trace in parts for part in of_trace for row in parsed(part.series)]
        remarks = list(dict.fromkeys(remark for of_trace in parts for part in of_trace for remark in part.remarks))
        results = Results([row for some in rows for row in some], series=series, remarks=remarks)
        results._per_trace = list(map(len, rows))
        return results
