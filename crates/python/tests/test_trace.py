"""Parts of traces, and traces of memory."""

from __future__ import annotations

import inspect
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hotset
import numpy as np
import pytest
from test_results import pgt

Workload = Callable[[str], str]


@pytest.mark.parametrize(
    "part",
    [
        slice(None),
        slice(1000, 2000),
        slice(None, 10),
        slice(70_000, None),
        slice(-500, None),
        slice(-500, -20),
        slice(None, -1),
        slice(20, 10),
        slice(0, 0),
        slice(np.int64(3), 1 << 80),
        slice(-(1 << 80), 5),
        slice(1 << 80, None),
    ],
)
def test_a_part_has_the_requests_of_the_same_slice_of_the_array(part: slice, workload: Workload) -> None:
    trace = hotset.open(workload("build"))
    for whole in (trace, trace.filter(app="cc1"), trace[5:-5], trace.filter(app="cc1")[100:].filter(ops="reads")):
        expected = whole.to_numpy()[part]
        assert (whole[part].to_numpy() == expected).all() and len(whole[part]) == len(expected)


def test_a_part_by_time_is_that_of_the_command(workload: Workload, command: Any) -> None:
    path = workload("tpcc")
    for part, typed in (
        (slice("10s", "30s"), ["--from", "10s", "--to", "30s"]),
        (slice("500ms", None), ["--from", "500ms"]),
        (slice(None, "20s"), ["--to", "20s"]),
    ):
        rows = list(hotset.simulate(hotset.open(path)[part], "lru,lirs", "1%,10%"))
        assert rows == command.rows("simulate", path, "--policy", "lru,lirs", "--size", "1%,10%", *typed)
        assert rows[0]["references"] < hotset.simulate(path, "lru", 10)[0]["references"]


def test_a_part_by_number_is_that_of_the_command_where_a_request_is_a_reference(command: Any, tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    path.write_text("\n".join(map(str, np.random.default_rng(1).zipf(1.2, 300_000) % 5000)) + "\n")
    rows = list(hotset.simulate(hotset.open(path)[70_000:200_001], "lru,arc", "100,1000 blocks"))
    typed = ["--policy", "lru,arc", "--size", "100 blocks,1000 blocks", "--from", 70_000, "--to", 200_001]
    theirs = command.rows("simulate", path, *typed)
    # Rows have the filters; a part is a separate trace.
    assert {row.pop("filter") for row in theirs} == {"from=70000,to=200001"} and rows == theirs


def test_a_part_is_a_trace_as_any_other(workload: Workload, tmp_path: Path) -> None:
    part, path = hotset.open(workload("office"))[100:20_000], tmp_path / "part.hst"
    part.write(path)
    again = hotset.open(path)
    assert len(again) == 19_900 and part.info()["requests"] == 19_900
    rows = [hotset.simulate(trace, "lru,lirs,opt", "5%,50%") for trace in (part, again)]
    assert [[row["hits"] for row in some] for some in rows][0] == [row["hits"] for row in rows[1]]
    assert "requests 100 to 20000" in repr(part) and part.name == workload("office")
    with pytest.raises(hotset.Error, match="it is the same file as the input"):
        part.write(workload("office"))


def test_what_is_no_part_is_refused(workload: Workload) -> None:
    trace: Any = hotset.open(workload("lu"))
    with pytest.raises(TypeError, match="a trace is cut by a slice"):
        trace[3]
    with pytest.raises(ValueError, match="expected no step"):
        trace[::2]
    with pytest.raises(TypeError):
        iter(trace)
    with pytest.raises(TypeError):
        trace[1.5:]
    with pytest.raises(hotset.Error, match="^from_=: "):
        trace["noon":]


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    path = tmp_path / "loop.pgt"
    path.write_bytes(pgt([page for _ in range(20) for page in range(200)]))
    return path


def test_a_trace_of_memory_is_told_and_given_as_an_array(loop: Path) -> None:
    trace = hotset.open(loop)
    runs, info = trace.to_numpy(), trace.info()
    assert runs.dtype.names == ("page", "references", "writes")
    assert runs["page"][:201].tolist() == [*range(200), 0] and runs["references"].sum() == 4000
    assert (info["references"], info["requests"], len(trace)) == (4000, len(runs), len(runs))
    with pytest.raises(hotset.Error, match="loop.pgt is a trace of memory, of which no part is taken"):
        trace[10:20]
    with pytest.raises(hotset.Error, match="loop.pgt"):
        len(trace.filter(ops="reads"))


def test_a_trace_of_memory_is_written_as_the_command_does(loop: Path, command: Any, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.hst", tmp_path / "theirs.hst"
    hotset.open(loop).write(ours)
    done = command.run("import", loop, "-o", theirs)
    assert done.returncode == 0 and ours.read_bytes() == theirs.read_bytes(), done.stderr
    rows = [list(hotset.simulate(hotset.open(path, name="x"), "clock,fifo", "10%,50%")) for path in (loop, ours)]
    assert rows[0] == rows[1]


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_the_memory_of_a_program_is_recorded(tmp_path: Path) -> None:
    recording = hotset.record(["/bin/true"], tmp_path / "true.hst", memory=True)
    assert recording.status == 0 and recording.trace.info()["references"] > 10_000
    assert "refaults" in hotset.simulate(recording.trace, "clock", "50%")[0]
    with pytest.raises(hotset.Error, match="no-such-program"):
        hotset.record(["no-such-program"], tmp_path / "none.hst", memory=True)


def test_options_are_known_to_types_and_to_readers(command: Any) -> None:
    """Types: refused lines are marked, and mypy refuses unused marks."""
    keys = [1, 2, 1]
    with pytest.raises(TypeError, match="unknown option 'blok': expected one of block, .*keep_freed"):
        hotset.simulate(keys, "lru", 2, blok="4K")  # type: ignore[call-arg]
    with pytest.raises(hotset.Error, match="^maps=: "):
        hotset.curve(keys, "lru", maps="some")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unknown option 'seed'"):
        hotset.inspect(keys, seed=1)  # type: ignore[call-arg]
    for function, name in ((hotset.simulate, "simulate"), (hotset.curve, "curve"), (hotset.inspect, "inspect")):
        told = command.run(name, "--help").stdout
        options = inspect.signature(function).parameters
        for option in options:
            if option not in ("trace", "policies", "sizes", "threads", "progress"):
                assert f"--{option.strip('_').replace('_', '-')}" in told, f"{name} {option}"
        assert options["maps"].default in told and "options" not in options
    defaults = {name: option.default for name, option in inspect.signature(hotset.sweep).parameters.items()}
    assert defaults["memory"] == "4G" and defaults["seed"] == 1 and defaults["from_"] is None
