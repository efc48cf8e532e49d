"""Pieces of a sweep over a cluster of Ray.

Ray decides which node runs a piece, and starts it again where a worker or a node is lost. What comes back are
rows alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _native
from ._job import Job, Named, Swept
from ._packing import Node, Piece

#: How often a piece is started again whose worker was lost.
_RETRIES = 3
#: How often it is looked whether there is a node left for what waits.
_LOOK_SECONDS = 2.0
#: How long none may be there: a node that is lost may come back.
_PATIENCE_SECONDS = 60.0
#: How long each of two answers of a cluster may take, one of its machine and one of Ray. Ray itself waits for minutes.
_ANSWER_SECONDS = 10.0


class Cluster:
    """A cluster of Ray."""

    def __init__(self, on: str) -> None:
        # Progress is not reported here.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise _native.Error(f'on: {on} needs Ray, which is not installed: pip install "hotset[ray]"') from None
        self._ray: Any = ray
        self._on = on
        self._is_ours = False

    def __enter__(self) -> Cluster:
        if not self._ray.is_initialized():
            self._is_ours = True
            try:
                self._join()
            except (ImportError, OSError, RuntimeError, ValueError) as error:
                raise _native.Error(f"on: {self._on}: no cluster of Ray: {error}") from error
        return self

    def _join(self) -> None:
        """Joins the cluster, or makes one that only this machine reaches."""
        quiet = {"log_to_driver": False, "logging_level": "warning"}
        if self._on != "ray":
            _answers(self._on)
            self._ray.init(address=self._on, **quiet)
            return
        try:
            _answers(_known_address())
            self._ray.init(address="auto", **quiet)
        except ConnectionError:
            if os.environ.get("RAY_ADDRESS"):
                raise
            self._ray.init(address="local", include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            self._ray.shutdown()

    def nodes(self) -> list[Node]:
        """The nodes that have a core at least."""
        return [node for node, _ in self._alive()]

    def _alive(self) -> list[tuple[Node, str]]:
        told = [(node["Resources"], node["NodeID"]) for node in self._ray.nodes() if node["Alive"]]
        known = [
            (Node(int(has["CPU"]), int(has.get("memory", 1 << 62))), name) for has, name in told if has.get("CPU", 0) >= 1
        ]
        if not known:
            raise _native.Error(f"on: {self._on}: no node of the cluster has a core to give")
        return known

    def each(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """What work gives for each of these, in order, done on some node."""
        for source in (source for given in arguments for source in given[0]):
            if not isinstance(source, (str, Named)):
                kind = type(source).__name__
                raise _native.Error(f"on: {self._on}: a trace is of the type {kind}: expected paths that every node has")
        remote = self._ray.remote(work).options(num_cpus=1, max_retries=_RETRIES)
        return map(self._got, [remote.remote(*given) for given in arguments])

    def run(self, sources: Sequence[Any], job: Job, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, Swept]]:
        """Each piece as it is done."""
        names = [name for _, name in self._alive()]
        remote = self._ray.remote(_replayed)
        running = {self._started(remote, sources, job, piece, names): piece for piece in pieces}
        there_was_room = time.monotonic()
        try:
            while running:
                ready, _ = self._ray.wait(list(running), timeout=_LOOK_SECONDS)
                for done in ready:
                    yield running.pop(done), self._got(done)
                if ready or self._has_room(running.values()):
                    there_was_room = time.monotonic()
                elif time.monotonic() - there_was_room > _PATIENCE_SECONDS:
                    cores = min(piece.cores for piece in running.values())
                    raise _native.Error(f"on: {self._on}: the cluster has lost every node with {cores} cores or more")
        finally:
            for waiting in running:
                self._ray.cancel(waiting, force=True)

    def _started(self, remote: Any, sources: Sequence[Any], job: Job, piece: Piece, names: Sequence[str]) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # Pieces of one trace go to a node each, so that none decodes it twice; another node does if that one is lost.
        place: Any = "SPREAD"
        if piece.node is not None:
            place = NodeAffinitySchedulingStrategy(names[piece.node % len(names)], soft=True)
        asked = remote.options(
            num_cpus=piece.cores, memory=piece.memory_bytes, max_retries=_RETRIES, scheduling_strategy=place
        )
        return asked.remote(sources[piece.trace], job, piece)

    def _got(self, done: Any) -> Any:
        """What came of it; errors are those of one machine."""
        from ray import exceptions

        try:
            return self._ray.get(done)
        except exceptions.RayTaskError as error:
            if isinstance(error.cause, ModuleNotFoundError):
                raise _native.Error(f"on: {self._on}: a node has no hotset: install this version on every one") from error
            raise error.cause from error
        except exceptions.RayError as error:
            told = str(error).strip().splitlines()[0]
            raise _native.Error(f"on: {self._on}: a piece of the sweep was lost {_RETRIES + 1} times: {told}") from error

    def _has_room(self, pieces: Any) -> bool:
        """True if there is a node left that any of these could run on some time."""
        alive = self._ray.nodes()
        cores = max((node["Resources"].get("CPU", 0) for node in alive if node["Alive"]), default=0)
        return any(piece.cores <= cores for piece in pieces)


def _replayed(source: Any, job: Job, piece: Piece) -> Swept:
    """Replays a piece, on some node."""
    return job.run(source, (piece.first, piece.last), piece.cores)


def _known_address() -> str:
    """The address of the cluster that this machine is part of; empty if there is none."""
    try:
        from ray._private.services import get_ray_address_from_environment
    except ImportError:
        # Another version of Ray, which Ray detects.
        return os.environ.get("RAY_ADDRESS", "")
    try:
        return str(get_ray_address_from_environment("auto", None))
    except ConnectionError:
        return ""


def _answers(address: str) -> None:
    """Makes sure that a server there answers as Ray does. Raises a `ConnectionError` otherwise."""
    place = address.removeprefix("ray://")
    if place != address and ":" not in place:
        place += ":10001"
    host, _, port = place.rpartition(":")
    if not port.isdecimal():
        # No place: Ray knows what is meant, or says what is wrong.
        return
    import socket

    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no answer from {place} ({error})") from error
    if os.environ.get("RAY_USE_TLS", "0") not in ("0", ""):
        return
    try:
        import grpc
    except ImportError:
        return
    channel = grpc.insecure_channel(place)
    try:
        grpc.channel_ready_future(channel).result(timeout=_ANSWER_SECONDS)
    except grpc.FutureTimeoutError as error:
        seconds = f"{_ANSWER_SECONDS:.0f} seconds"
        raise ConnectionError(f"what listens at {place} has not answered as Ray does within {seconds}") from error
    finally:
        channel.close()
