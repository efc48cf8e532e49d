"""Sweeps over a real cluster of Ray: two nodes on loopback, a worker and a node of which are killed on the way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hotset
import numpy as np
import pytest

# Before Ray is imported: turns its usage statistics off.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
ray: Any = pytest.importorskip("ray")
Cluster: Any = pytest.importorskip("ray.cluster_utils").Cluster

WORKLOADS = Path(__file__).parents[4] / "workloads"
PATHS = [str(WORKLOADS / f"{name}.hst") for name in ("tpcc", "office", "lu", "build")]
POLICIES = ["lru", "s3-fifo", "lirs", "random", "opt", "arc"]
SIZES: list[str | int] = ["1%", "10%", 300]


#: Ray takes an address of loopback for one that others should reach as well, and looks for another of this machine's. Here
#: nobody else is to reach it.
LOOPBACK = "from ray._private import services; services.resolve_ip_for_localhost = lambda host: host"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head and a node, of two cores each, that only this machine reaches."""
    exec(LOOPBACK)
    about = {"num_cpus": 2, "object_store_memory": 80 << 20, "memory": 4 << 30}
    made = Cluster(initialize_head=True, head_node_args={**about, "include_dashboard": False, "node_ip_address": "127.0.0.1"})
    try:
        made.second = made.add_node(**about, node_ip_address="127.0.0.1")
        made.wait_for_nodes()
        monkeypatch.setenv("RAY_ADDRESS", made.address)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def bytes_of(results: hotset.Results, folder: Path) -> bytes:
    file = folder / "rows.parquet"
    results.to_parquet(file)
    return file.read_bytes()


def workers() -> list[int]:
    """The processes that replay just now, below this one or orphaned by a node of this test."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                line = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if line.startswith(b"ray::_replayed"):
                found.append(int(process.name))
    return found


def eventually(is_so: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := is_so():
            return found
        time.sleep(0.02)
    raise AssertionError(f"never: {what}")


def long_traces(folder: Path) -> list[str]:
    """Traces that take seconds each."""
    paths = []
    for seed in range(4):
        path = folder / f"keys{seed}.txt"
        keys = np.random.default_rng(seed).zipf(1.05, 100_000) % 60_000
        path.write_text("\n".join(map(str, keys)) + "\n")
        paths.append(str(path))
    return paths


def test_rows_are_those_of_one_machine(cluster: Any, tmp_path: Path) -> None:
    expected = hotset.sweep(PATHS, POLICIES, SIZES, ops="reads")
    results = hotset.sweep(PATHS, POLICIES, SIZES, ops="reads", on="ray")
    assert bytes_of(results, tmp_path) == bytes_of(expected, tmp_path) and len(results) == 4 * 6 * 3
    # The nodes share one trace.
    alone = hotset.sweep(PATHS[0], POLICIES, SIZES, ops="reads", on="ray", keep=tmp_path / "kept")
    assert alone == expected[:18] and len(list((tmp_path / "kept").iterdir())) == 2
    assert not ray.is_initialized(), "the cluster is left again"
    # What one machine has done counts, and the other way round.
    assert hotset.sweep(PATHS, POLICIES, SIZES, ops="reads", keep=tmp_path / "kept") == expected


def test_a_worker_and_a_node_are_lost_on_the_way(cluster: Any, tmp_path: Path) -> None:
    paths, kept = long_traces(tmp_path), tmp_path / "kept"
    policies, sizes = "lhd,lecar,lrfu,lirs", "1%..50%*1.2"
    expected = hotset.sweep(paths, policies, sizes)
    given: list[Any] = []

    def swept() -> None:
        try:
            given.append(hotset.sweep(paths, policies, sizes, on="ray", keep=kept))
        except BaseException as error:
            given.append(error)

    sweep = threading.Thread(target=swept)
    sweep.start()
    os.kill(eventually(workers, "a worker replays")[0], signal.SIGKILL)
    eventually(lambda: len(workers()) > 1, "several workers replay")
    assert not given, "it is long"
    cluster.remove_node(cluster.second, allow_graceful=False)
    assert not given, "it is long"
    sweep.join(240)
    assert not sweep.is_alive() and len(given) == 1
    if isinstance(given[0], BaseException):
        raise given[0]
    assert bytes_of(given[0], tmp_path) == bytes_of(expected, tmp_path)


KILLED = """
import hotset, sys
hotset.sweep(sys.argv[2:], "lhd,lecar,lrfu,lirs", "1%..50%*1.2", on="ray", keep=sys.argv[1])
"""


def test_a_sweep_that_was_killed_goes_on_where_it_was(cluster: Any, tmp_path: Path) -> None:
    paths, kept = long_traces(tmp_path), tmp_path / "kept"
    code = f"{LOOPBACK}\n{KILLED}"
    child = subprocess.Popen([sys.executable, "-c", code, str(kept), *paths])
    eventually(lambda: kept.exists() and any(kept.glob("*.jsonl")), "something is done")
    child.kill()
    assert child.wait() == -signal.SIGKILL, "it is long"
    done = {path.name: path.stat().st_mtime_ns for path in kept.glob("*.jsonl")}
    results = hotset.sweep(paths, "lhd,lecar,lrfu,lirs", "1%..50%*1.2", on="ray", keep=kept)
    assert results == hotset.sweep(paths, "lhd,lecar,lrfu,lirs", "1%..50%*1.2")
    assert done.items() <= {path.name: path.stat().st_mtime_ns for path in kept.glob("*.jsonl")}.items()


def test_errors_are_those_of_one_machine(cluster: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("offset,size\n" + "0,4096\n" * 1000 + "here,4096\n")
    ways: list[dict[str, Any]] = [
        {"traces": [str(bad)]},
        {"traces": ["/no/such.hst"]},
        {"policies": "lrv"},
        {"policies": "lru,virtual(lru)", "sizes": "0"},
    ]
    for options in ways:
        asked: dict[str, Any] = {"traces": [PATHS[0]], "policies": "lru", "sizes": "10 blocks", **options}
        told = []
        for on in ("local", "ray"):
            with pytest.raises((hotset.Error, FileNotFoundError)) as raised:
                hotset.sweep(**asked, on=on)
            told.append((type(raised.value), str(raised.value)))
        assert told[0] == told[1]
    for source in (np.arange(5), hotset.open([1, 2])):
        with pytest.raises(hotset.Error, match="expected paths that every node has"):
            hotset.sweep([source], "lru", 2, on="ray")


EXPERIMENT = """
title = "T"
source = "S"
traces = ["tpcc.hst", "office.hst", "lu.hst"]
policies = "lru,2q(kin=30%),opt"
sizes = "1%,300 blocks"
only = "ops=reads"
maps = "none"

[[compare]]
better = "2q(kin=30%)"
than = "lru"
"""


def test_the_command_replays_an_experiment_over_it(
    cluster: Any, command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, rows, theirs = tmp_path / "some.toml", tmp_path / "rows.parquet", tmp_path / "theirs.parquet"
    file.write_text(EXPERIMENT)
    shared = ["experiment", file, "--traces", WORKLOADS]
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n{LOOPBACK}\nfrom hotset import _on_cluster\n_on_cluster.main()\n")
    python.chmod(0o755)
    monkeypatch.setenv("HOTSET_PYTHON", str(python))
    over, here = command.run(*shared, "--on", "ray", "--parquet", rows), command.run(*shared, "--parquet", theirs)
    assert over.returncode == 0, over.stderr
    assert over.stdout == here.stdout and rows.read_bytes() == theirs.read_bytes()
    file.write_text(EXPERIMENT.replace("office.hst", "none.hst"))
    refused = command.run(*shared, "--on", "ray")
    assert refused.returncode == 1 and "none.hst" in refused.stderr


def test_without_a_cluster_it_makes_one_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    # Where Ray notes which cluster it has started last; its sockets want a short name.
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        assert hotset.sweep(PATHS[0], "lru", 10, on="ray") == hotset.sweep(PATHS[0], "lru", 10)
    assert not ray.is_initialized()


def test_a_cluster_that_does_not_answer_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server listens there, or one that does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with socket.create_server(("127.0.0.1", 0)) as server:
            closed = "127.0.0.1:%d" % server.getsockname()[1]
        says_nothing = "127.0.0.1:%d" % silent.getsockname()[1]
        for place, sentence in ((closed, "no answer from"), (says_nothing, "has not answered as Ray does")):
            for on, known in ((f"ray://{place}", ""), ("ray", place)):
                monkeypatch.setenv("RAY_ADDRESS", known)
                begun = time.monotonic()
                with pytest.raises(hotset.Error, match=f"on: {on}: no cluster of Ray: .*{sentence}"):
                    hotset.sweep(PATHS[0], "lru", 10, on=on)
                assert time.monotonic() - begun < 20
    assert not ray.is_initialized()


def test_a_cluster_that_has_ended_is_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The note of where it was is still there: there is a new one of this machine."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        note = Path(folder, "ray", "ray_current_cluster")
        note.parent.mkdir()
        note.write_text("127.0.0.1:1")
        assert hotset.sweep(PATHS[0], "lru", 10, on="ray") == hotset.sweep(PATHS[0], "lru", 10)
    assert not ray.is_initialized()
