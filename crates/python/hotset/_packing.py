"""Which policies of which trace are replayed together, on how many cores: by what they cost and what memory they take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

#: Memory that a replay takes for a byte of its trace as it lies on disk: 9 were measured on workloads/tpch.hst under three
#: policies; traces that are packed better take more.
_PER_BYTE = 16
#: What every replay takes besides.
_BESIDES = 64 << 20


class Node(NamedTuple):
    """A machine."""

    cores: int
    memory_bytes: int


class Work(NamedTuple):
    """Policies of a trace, by number, that are still to be replayed."""

    trace: int
    first: int
    last: int
    #: Of the trace, as it lies on disk.
    trace_bytes: int
    #: The rows of traces of memory depend on each other.
    can_be_split: bool


class Piece(NamedTuple):
    """Policies of a trace that are replayed at once, on one decode of it."""

    trace: int
    first: int
    last: int
    cores: int
    memory_bytes: int
    #: The node that other pieces of the trace are not for; None if there are none.
    node: int | None


def packed(works: Sequence[Work], nodes: Sequence[Node], most_bytes: int) -> list[Piece]:
    """The pieces of this work, what takes longest first.

    A trace is one piece on one core where there are many. Where it is so large a part of all work that the others would
    be done long before, it has more cores of a node; and where even a node's are too few, several nodes have some of its
    policies each, and decode it once each. A trace that takes the memory of several cores has these as well. ``most_bytes``
    of references are held of a trace.
    """
    cores = sum(node.cores for node in nodes)
    least_cores = min(node.cores for node in nodes)
    most_memory = max(node.memory_bytes for node in nodes)
    cost = [work.trace_bytes * (work.last - work.first) for work in works]
    total = max(1, sum(cost))
    pieces = []
    for at in sorted(range(len(works)), key=lambda at: (-cost[at], at)):
        work = works[at]
        policies = work.last - work.first
        # The cores that would be done with it when the others are done with the rest.
        share = cores * cost[at] / total
        memory = min(min(work.trace_bytes * _PER_BYTE, most_bytes) + _BESIDES, most_memory)
        # Twice as many: with one too few all others wait for it at the end. At most as many as have memory to work
        # with.
        idle = max(memory * node.cores / max(1, node.memory_bytes) for node in nodes)
        own = max(1, min(math.ceil(max(2 * share, idle)), least_cores))
        parts = min(math.ceil(share / least_cores), len(nodes), policies) if work.can_be_split else 1
        bounds = [work.first + policies * part // max(1, parts) for part in range(max(1, parts) + 1)]
        pieces += [
            Piece(work.trace, first, last, own, memory, part if parts > 1 else None)
            for part, (first, last) in enumerate(zip(bounds, bounds[1:]))
        ]
    return pieces
