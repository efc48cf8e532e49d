"""What is replayed, and how: the options of ``simulate`` as the native side takes them, on whatever machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from . import _native
from ._trace import Patterns, Trace, open, text_of

Maps = Literal["auto", "all", "none"]
Deletes = Literal["apply", "ignore"]
#: One spec, several between commas, or a list.
Specs = str | Iterable[str]
Sizes = str | int | Iterable[str | int]
#: Is told how many references are done, and of how many (0: nobody knows). What it raises ends the work.
Told = Callable[[int, int], None]


class Named(NamedTuple):
    """A trace in a file, and what rows call it."""

    path: str
    name: str


class Swept(NamedTuple):
    """What a replay gave: the kind of its rows, these and those of series as JSON Lines, and remarks on the trace."""

    kind: str
    rows: str
    series: str
    remarks: list[str]


class Job(NamedTuple):
    """A replay of any trace."""

    policies: str | None
    sizes: str | None
    filters: dict[str, Any]
    cut: _native._Cut
    counted: _native._Counted
    replay: dict[str, Any]

    def run(
        self, trace: Any, part: tuple[int, int] | None = None, threads: int | None = None, told: Told | None = None
    ) -> Swept:
        """Replays a trace, or only these of the policies, by number."""
        options: Any = {**self.replay, "threads": threads, "part": part}
        opened = filtered(trace, self.filters)._native
        return Swept(
            *_native.simulate(opened, self.policies, self.sizes, self.cut, self.counted, options, told)
        )


def job_of(
    policies: Specs | None,
    sizes: Sizes | None,
    *,
    block: str | int | None,
    maps: Maps,
    memory: str | int | None,
    deletes: Deletes,
    classes: str | os.PathLike[str] | None,
    app: Patterns,
    file: Patterns,
    exclude: Patterns,
    ops: str | None,
    from_: str | int | None,
    to: str | int | None,
    warmup: str | int | None,
    count_only: str | None,
    store: str | None,
    every: str | int | None,
    explain: bool,
    seed: int,
    keep_freed: bool,
) -> Job:
    """The job that these options ask for."""
    return Job(
        joined(policies),
        joined(sizes),
        {"app": app, "file": file, "exclude": exclude, "ops": ops, "from_": from_, "to": to},
        cut_of(block, maps, memory, deletes),
        {"warmup": text_of(warmup), "count_only": count_only},
        {
            "classes": None if classes is None else os.fspath(classes),
            "store": store,
            "every": text_of(every),
            "explain": explain,
            "seed": seed,
            "keep_freed": keep_freed,
        },
    )


def filtered(trace: Any, filters: dict[str, Any]) -> Trace:
    """The trace with only what these filters choose, if there are any."""
    opened = open(trace.path, name=trace.name) if isinstance(trace, Named) else open(trace)
    is_given = any(value is not None and value != () for value in filters.values())
    return opened.filter(**filters) if is_given else opened


def cut_of(block: str | int | None, maps: str, memory: str | int | None, deletes: str) -> _native._Cut:
    """How requests are cut into blocks."""
    return {"block": text_of(block), "maps": maps, "memory": text_of(memory), "deletes": deletes}


def joined(values: Any) -> str | None:
    """A list as the command has it."""
    if values is None or isinstance(values, str):
        return values
    if isinstance(values, Iterable):
        return ",".join(str(value) for value in values)
    return str(values)


def parsed(lines: str) -> list[dict[str, Any]]:
    """JSON Lines."""
    import json

    return [json.loads(line) for line in lines.splitlines()]
