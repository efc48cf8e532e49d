"""Sweeps: the rows of one trace after another, whatever was replayed together, and only what is not done yet."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hotset
import numpy as np
import pytest
from hotset import _native
from hotset._job import Job, cut_of
from hotset._kept import Kept
from hotset._packing import Node, Work, packed

Workload = Callable[[str], str]

POLICIES = ["lru", "2q(kin=30%)", "lirs", "virtual(lru)", "random", "opt"]
SIZES: list[str | int] = ["1%", "10%", 300]


def bytes_of(results: hotset.Results, folder: Path) -> bytes:
    file = folder / "rows.parquet"
    results.to_parquet(file)
    return file.read_bytes()


def test_rows_are_those_of_the_command(workload: Workload, command: Any, tmp_path: Path) -> None:
    paths = [workload(name) for name in ("tpcc", "office", "lu")]
    options = {"ops": "reads", "seed": 3, "deletes": "ignore"}
    results = hotset.sweep(paths, POLICIES, SIZES, **options)  # type: ignore[arg-type]
    typed = ["--policy", ",".join(POLICIES), "--size", "1%,10%,300 blocks", "--ops", "reads", "--seed", 3, "--deletes", "ignore"]
    expected = command.rows("simulate", *paths, *typed)
    assert list(results) == expected and len(results) == 3 * 6 * 3
    theirs = tmp_path / "theirs.parquet"
    command.rows("simulate", *paths, *typed, "--parquet", theirs)
    assert bytes_of(results, tmp_path) == theirs.read_bytes()


@pytest.mark.parametrize("memory", ["4G", "2M"])
def test_parts_of_a_trace_are_together_the_whole(memory: str, workload: Workload) -> None:
    """Also where memory runs out only because one of the policies wants the requests themselves."""
    replay = {"classes": None, "store": None, "every": None, "explain": False, "seed": 1, "keep_freed": False}
    cut = cut_of({"block": None, "maps": "auto", "memory": memory})
    job = Job("lru,arc,virtual(lru),sieve", "100 blocks,1000 blocks", {}, cut, {"warmup": None, "count_only": None}, replay)
    whole = job.run(workload("tpcc"))
    rows = [job.run(workload("tpcc"), part).rows for part in ((0, 1), (1, 3), (3, 4))]
    assert "".join(rows) == whole.rows and ("distinct_blocks" in whole.rows) == (memory == "4G")


def test_what_is_done_is_not_done_again(workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, paths = tmp_path / "kept", [workload("tpcc"), workload("lu")]
    expected = hotset.sweep(paths, POLICIES, SIZES)
    assert hotset.sweep(paths[1:], POLICIES, SIZES, keep=kept) == expected[18:]
    assert len(list(kept.iterdir())) == 1
    ran: list[str] = []
    simulate = _native.simulate

    def noted(trace: Any, *rest: Any) -> Any:
        ran.append(trace.name)
        return simulate(trace, *rest)

    monkeypatch.setattr(_native, "simulate", noted)
    assert hotset.sweep(paths, POLICIES, SIZES, keep=kept) == expected and ran == paths[:1]
    assert hotset.sweep(paths, POLICIES, SIZES, keep=kept) == expected and ran == paths[:1]
    # Other options, and policies, are other rows.
    assert hotset.sweep(paths[1], POLICIES, SIZES, keep=kept, seed=2) != expected[18:] and len(ran) == 2
    # A damaged file is as good as none, and so is one of a part that is there already.
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    for path in kept.iterdir():
        path.write_bytes(path.read_bytes()[:-100])
    assert hotset.sweep(paths, POLICIES, SIZES, keep=kept) == expected and len(ran) == 4
    assert hotset.sweep(paths, POLICIES, SIZES, keep=kept) == expected and len(ran) == 4
    assert sum(path.read_bytes() == before[path.name] for path in kept.iterdir()) == 2


def test_parts_that_were_kept_are_completed(workload: Workload, tmp_path: Path) -> None:
    expected = hotset.sweep(workload("lu"), POLICIES, SIZES, keep=tmp_path)
    (whole,) = tmp_path.iterdir()
    key = whole.name.split(".")[0]
    swept = Kept(tmp_path).parts(key)[0][2]
    lines = swept.rows.splitlines(keepends=True)
    whole.unlink()
    # Policies 1 to 2, and 4; and one file that overlaps the first.
    for first, last in ((1, 3), (4, 5), (2, 3)):
        Kept(tmp_path).keep(key, first, last, swept._replace(rows="".join(lines[first * 3 : last * 3])))
    assert [part[:2] for part in Kept(tmp_path).parts(key)] == [(1, 3), (4, 5)]
    assert hotset.sweep(workload("lu"), POLICIES, SIZES, keep=tmp_path) == expected
    assert [part[:2] for part in Kept(tmp_path).parts(key)] == [(0, 1), (1, 3), (3, 4), (4, 5), (5, 6)]


def test_a_trace_that_has_changed_is_another(tmp_path: Path) -> None:
    trace, kept = tmp_path / "ids.txt", tmp_path / "kept"
    trace.write_text("1\n2\n1\n")
    first = hotset.sweep([str(trace)], "lru", 2, keep=kept)
    trace.write_text("1\n2\n3\n")
    os.utime(trace, ns=(1, 1))
    second = hotset.sweep([str(trace)], "lru", 2, keep=kept)
    assert (first[0]["hits"], second[0]["hits"]) == (1, 0) and len(list(kept.iterdir())) == 2
    keys = np.array([1, 2, 1], np.uint64)
    for _ in range(2):
        assert hotset.sweep([keys, keys + 1], "lru", 2, keep=kept)[1]["hits"] == 1
    assert len(list(kept.iterdir())) == 4


def test_traces_of_one_file_that_are_chosen_otherwise_are_others(workload: Workload, tmp_path: Path) -> None:
    trace, csv = hotset.open(workload("tpcc")), tmp_path / "t.csv"
    csv.write_text("1,2\n1,3\n1,4\n")
    ways = [
        trace,
        trace.filter(ops="reads"),
        trace.filter(ops="writes"),
        trace[:30_000],
        trace[10_000:30_000],
        trace.filter(ops="reads")[:10_000],
        hotset.open(csv, columns="key,size"),
        hotset.open(csv, columns="size,key"),
    ]
    expected = [hotset.sweep([way], "lru", 3) for way in ways]
    assert len({(row["references"], row["hits"], row["trace"]) for (row,) in expected}) == len(ways)
    for _ in range(2):
        assert [hotset.sweep([way], "lru", 3, keep=tmp_path / "kept") for way in ways] == expected
    assert len(list((tmp_path / "kept").iterdir())) == len(ways)


INTERRUPTED = """
import hotset, numpy as np, sys
keys = np.arange(2_000_000, dtype=np.uint64) * 2654435761 % (1 << 18)
print("begun", flush=True)
try:
    hotset.sweep([keys[:1000], keys, keys + 1, keys + 2], "lru,lhd,cacheus,lrfu", "1%..50%*1.1", keep=sys.argv[1])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_sweep_and_keeps_what_is_done(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    deadline = time.monotonic() + 60
    while not any(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert child.poll() is None, "it is long"
    begun = time.monotonic()
    child.send_signal(signal.SIGINT)
    told, errors = child.communicate(timeout=30)
    assert told == "interrupted\n" and errors == "" and time.monotonic() - begun < 5
    assert [path.name[:1] for path in tmp_path.iterdir()] != ["."]


def test_cells_are_packed_by_cost() -> None:
    nodes = [Node(4, 1 << 30), Node(4, 1 << 34)]
    # Each takes half of the small node's memory.
    heavy = packed([Work(at, 0, 10, 1 << 30, True) for at in range(100)], nodes, 448 << 20)
    assert {(piece.cores, piece.memory_bytes) for piece in heavy} == {(2, 512 << 20)}
    many = packed([Work(at, 0, 10, 1000 + at, True) for at in range(100)], nodes, 4 << 30)
    assert [(piece.cores, piece.first, piece.last, piece.node) for piece in many] == [(1, 0, 10, None)] * 100
    assert [piece.trace for piece in many] == list(range(99, -1, -1)), "the longest first"
    # One that is as much as all others has a node's cores; alone it is shared by all nodes, each with its own part.
    large = packed([Work(0, 0, 10, 100_000, True), *(Work(at, 0, 10, 1000, True) for at in range(1, 101))], nodes, 1)
    assert (large[0].trace, large[0].cores) == (0, 4) and {piece.cores for piece in large[1:]} == {1}
    alone = packed([Work(0, 3, 10, 100_000, True)], nodes, 4 << 30)
    assert [(piece.first, piece.last, piece.node, piece.cores) for piece in alone] == [(3, 6, 0, 4), (6, 10, 1, 4)]
    assert len(packed([Work(0, 0, 10, 100_000, False)], nodes, 1)) == 1
    (huge,) = packed([Work(0, 0, 1, 1 << 50, True)], nodes, 1 << 50)
    assert huge.memory_bytes == 1 << 34, "never more than a machine has"


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"traces": []}, hotset.Error, "no traces to sweep over"),
    ({"traces": [1, 2, 3]}, TypeError, r"expected a list of traces, such as \[keys\]"),
    ({"traces": np.arange(5)}, TypeError, r"expected a list of traces, such as \[keys\]"),
    ({"on": "cloud"}, hotset.Error, "on: 'cloud' is not known: expected local, ray or ray://HOST:PORT"),
    ({"policies": "lrv"}, hotset.Error, "did you mean lru"),
    ({"policies": [dict]}, hotset.Error, "written in Python"),
    ({"sizes": "ten"}, hotset.Error, "sizes="),
    ({"memory": "much"}, hotset.Error, "memory="),
    ({"traces": ["no/such.hst"]}, FileNotFoundError, "no/such.hst"),
]


@pytest.mark.parametrize(("options", "kind", "sentence"), REFUSED)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], kind: type[Exception], sentence: str) -> None:
    asked: dict[str, Any] = {"traces": [np.arange(9, dtype=np.uint64)], "policies": "lru", "sizes": "2 blocks", **options}
    with pytest.raises(kind, match=sentence):
        hotset.sweep(**asked)


def test_a_trace_that_cannot_be_read_ends_it_and_what_is_done_stays(tmp_path: Path, workload: Workload) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("offset,size\n" + "0,4096\n" * 1000 + "here,4096\n")
    with pytest.raises(hotset.Error, match="bad.csv"):
        hotset.sweep([str(bad), workload("lu")], "lru", 10, keep=tmp_path / "kept")
    assert not [name for name in os.listdir(tmp_path / "kept") if not re.fullmatch(r"[0-9a-f]{40}\.0-1\.jsonl", name)]


def test_traces_of_memory_are_swept_apart(tmp_path: Path, workload: Workload) -> None:
    from test_results import pgt

    path = tmp_path / "loop.pgt"
    path.write_bytes(pgt([page for _ in range(20) for page in range(200)]))
    results = hotset.sweep([str(path)] * 2, "clock,fifo", "10%,50%")
    once = hotset.simulate(str(path), "clock,fifo", "10%,50%")
    assert "refaults" in results[0] and list(results) == list(once) * 2
    with pytest.raises(hotset.Error, match="loop.pgt is a trace of memory, which has its own policies"):
        hotset.sweep([workload("lu"), str(path)], "clock", 10)
