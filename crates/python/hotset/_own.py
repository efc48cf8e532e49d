"""Policies written in Python, replayed beside those of the list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol

from . import _native
from ._job import Job, Swept, Told, filtered, joined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PythonPolicy(Protocol):
    """A policy in Python: a class that is built for so many keys (``Mine(1000)``).

    ``access`` refers to a key and tells whether it was there; whatever it does then is the policy. ``remove``, which may
    be missing, takes out a key whose data is worth nothing any more.
    """

    def access(self, key: int, /) -> bool: ...


#: Builds a policy in Python for so many keys: usually its class.
OwnPolicy = Callable[[int], PythonPolicy]


def split(policies: Any) -> list[str | OwnPolicy | None]:
    """Specs of the list, as many together as follow on each other, and what is written in Python."""
    if policies is None or isinstance(policies, str):
        return [policies]
    given = list(policies) if isinstance(policies, Iterable) else [policies]
    runs: list[str | OwnPolicy | None] = []
    for is_own, some in groupby(given, key=callable):
        runs += list(some) if is_own else [joined(some)]
    return runs or [""]


def run(job: Job, runs: list[str | OwnPolicy | None], trace: Any, threads: int | None, told: Told | None) -> Swept:
    """Replays the policies of a job that are of the list, and those in Python; the rows are in the order of all."""
    for name in ("store", "every"):
        if job.replay[name] is not None:
            raise _native.Error(f"{name} needs policies of the list: leave those in Python out, or {name}")
    native = filtered(trace, job.filters)._native
    driven, remarks = _native.driven(native, job.sizes, job.cut, job.counted, job.replay["seed"], told)
    rows = []
    for one in runs:
        if one is None or isinstance(one, str):
            swept = job._replace(policies=one).run(trace, threads=threads, told=told)
            rows.append(swept.rows)
            remarks += [remark for remark in swept.remarks if remark not in remarks]
        else:
            name = getattr(one, "name", None) or getattr(one, "__name__", None) or type(one).__name__
            for size in driven.sizes:
                rows.append(driven.row(str(name), size, _hits(one(size), driven)))
    return Swept("".join(rows), "", remarks)


def _hits(policy: Any, driven: _native.Driven) -> NDArray[np.bool_]:
    """Which references hit."""
    import numpy as np

    hits = np.empty(driven.references, np.bool_)
    access, at = policy.access, 0
    # Where it is missing, what is deleted stays until it is evicted.
    remove: Any = getattr(policy, "remove", None)
    for window in range(driven.windows):
        blocks = driven.blocks(window).tolist()
        begin = 0
        for before, gone in driven.removals(window) if remove is not None else ():
            _refer(access, blocks[begin:before], hits[at + begin : at + before])
            remove(gone)
            begin = before
        _refer(access, blocks[begin:], hits[at + begin : at + len(blocks)])
        at += len(blocks)
    return hits


def _refer(access: Callable[[int], bool], blocks: list[int], hits: NDArray[np.bool_]) -> None:
    hits[:] = [bool(access(block)) for block in blocks]
