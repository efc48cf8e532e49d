"""Pieces of a sweep on the cores of this machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _native
from ._job import Job, Swept
from ._packing import Node, Piece


class _Stopped(Exception):
    """The sweep has ended."""


class Local:
    """This machine."""

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def nodes(self) -> list[Node]:
        return [Node(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, _native.budget())]

    def each(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """What work gives for each of these, in order."""
        return (work(*given) for given in arguments)

    def run(self, sources: Sequence[Any], job: Job, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Swept]]:
        """Each piece as it is done: as many at once as cores and memory allow."""
        from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

        (node,) = self.nodes()
        waiting, running = list(pieces), dict[Future[Swept], Piece]()
        stop = threading.Event()

        def told(_done: int, _total: int) -> None:
            if stop.is_set():
                raise _Stopped

        def replayed(piece: Piece) -> Swept:
            return job.run(sources[piece.trace], (piece.first, piece.last), piece.cores, told)

        with ThreadPoolExecutor(max_workers=node.cores) as pool:
            try:
                while waiting or running:
                    for piece in _that_fit(waiting, running.values(), node):
                        waiting.remove(piece)
                        running[pool.submit(replayed, piece)] = piece
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield running.pop(future), future.result()
            finally:
                stop.set()


def _that_fit(waiting: Sequence[Piece], running: Any, node: Node) -> list[Piece]:
    """The pieces that may begin now. One that is too large for the machine begins when nothing else runs."""
    cores = node.cores - sum(piece.cores for piece in running)
    memory, is_idle = node.memory_bytes - sum(piece.memory_bytes for piece in running), not running
    fit = []
    for piece in waiting:
        if cores < 1:
            break
        if piece.cores <= cores and piece.memory_bytes <= memory or is_idle:
            fit.append(piece)
            cores, memory, is_idle = cores - piece.cores, memory - piece.memory_bytes, False
    return fit
