"""A replay: the options of ``simulate`` as the native side takes them, on whatever machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from . import _native
from ._options import FILTERS, Sizes, Specs, chosen
from ._trace import Trace, open, text_of

#: Called with the references done, and the total (0: unknown). An exception in it ends the work.
Told = Callable[[int, int], None]


class Named(NamedTuple):
    """A trace in a file, and what rows call it."""

    path: str
    name: str


class Swept(NamedTuple):
    """The results of a replay: its rows and those of series as JSON Lines, and remarks on the trace."""

    rows: str
    series: str
    remarks: list[str]

    @property
    def is_of_memory(self) -> bool:
        """True if its rows have faults."""
        first = self.rows.partition("\n")[0]
        return '"faults_after_fill":' in first


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


def job_of(policies: Specs | None, sizes: Sizes | None, options: Mapping[str, Any]) -> Job:
    """The job that all these options ask for."""
    classes = options["classes"]
    return Job(
        joined(policies),
        sizes_of(sizes),
        chosen(options),
        cut_of(options),
        counted_of(options),
        {
            "classes": None if classes is None else os.fspath(classes),
            "store": options["store"],
            "every": text_of(options["every"]),
            "explain": options["explain"],
            "seed": options["seed"],
            "keep_freed": options["keep_freed"],
        },
    )


def filtered(trace: Any, filters: Mapping[str, Any]) -> Trace:
    """The trace with only what the filters among these options choose, if there are any."""
    opened = open(trace.path, name=trace.name) if isinstance(trace, Named) else open(trace)
    given: Any = {name: filters[name] for name in FILTERS if filters.get(name) not in (None, (), [])}
    return opened.filter(**given) if given else opened


def cut_of(options: Mapping[str, Any]) -> _native._Cut:
    """How requests are cut into blocks."""
    return {
        "block": text_of(options["block"]),
        "maps": options["maps"],
        "memory": text_of(options["memory"]),
        "deletes": options.get("deletes", "apply"),
        "ttl": options.get("ttl", "apply"),
    }


def counted_of(options: Mapping[str, Any]) -> _native._Counted:
    """What counts of them."""
    return {"warmup": text_of(options["warmup"]), "count_only": options["count_only"]}


def sizes_of(sizes: Sizes | None) -> str | None:
    """Sizes as the command has them: a Python integer counts blocks, a text names its unit."""
    if isinstance(sizes, (list, tuple)):
        return ",".join(str(sizes_of(size)) for size in sizes)
    return f"{sizes} blocks" if isinstance(sizes, int) else joined(sizes)


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
