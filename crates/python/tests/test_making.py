"""Traces that are recorded, mixed and written, advice, and tables: as the command makes and tells them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hotset
import numpy as np
import pytest

Workload = Callable[[str], str]


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        ({}, []),
        ({"by": "request", "loops": {"lu": 2}}, ["--by", "request", "--loops", "lu=2"]),
        (
            {"start": {"office": "3s"}, "span": {"lu": "10s"}, "ops": "reads"},
            ["--start", "office=3s", "--span", "lu=10s", "--ops", "reads"],
        ),
    ],
)
def test_a_mix_is_that_of_the_command(
    options: dict[str, Any], typed: list[str], command: Any, workload: Workload, tmp_path: Path
) -> None:
    parts = {"lu": workload("lu"), "office": workload("office")}
    mixed = hotset.mix(parts, tmp_path / "ours.hst", **options)
    done = command.run("mix", *(f"{name}={path}" for name, path in parts.items()), *typed, "-o", tmp_path / "theirs.hst")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ours.hst").read_bytes() == (tmp_path / "theirs.hst").read_bytes()
    assert mixed.info()["applications"] == ["lu", "office"]


def test_a_mix_that_makes_no_sense_is_refused(command: Any, workload: Workload, tmp_path: Path) -> None:
    ways: list[tuple[dict[str, Any], list[str]]] = [
        ({"start": {"db": "3s"}}, ["--start", "db=3s"]),
        ({"start": {"lu": "3"}}, ["--start", "lu=3"]),
        ({"loops": {"lu": 0}}, ["--loops", "lu=0"]),
    ]
    lu, out = workload("lu"), tmp_path / "out.hst"
    for options, typed in ways:
        with pytest.raises(hotset.Error) as raised:
            hotset.mix({"lu": lu}, out, **options)
        assert str(raised.value) in command.run("mix", f"lu={lu}", *typed, "-o", out).stderr
    copy = shutil.copy(lu, tmp_path / "copy.hst")
    with pytest.raises(hotset.Error, match="it is the same file as the input"):
        hotset.mix({"lu": copy}, copy)
    with pytest.raises(FileNotFoundError, match="into the directory"):
        hotset.mix({"lu": lu}, tmp_path / "no" / "out.hst")
    with pytest.raises(hotset.Error, match="expected at least one"):
        hotset.mix({}, out)
    assert not out.exists() and Path(copy).read_bytes() == Path(lu).read_bytes()


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
def test_a_program_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(100_000))
    code = f"open({str(tmp_path / 'data')!r}, 'rb').read(); raise SystemExit(3)"
    recording = hotset.record([sys.executable, "-S", "-c", code], tmp_path / "out.hst")
    assert recording.status == 3 and len(recording.trace) > 10
    read = recording.trace.filter(file=str(tmp_path / "data"), ops="reads").to_numpy()
    assert read["length"].sum() == 100_000
    with pytest.raises(hotset.Error, match="no-such-program"):
        hotset.record(["no-such-program"], tmp_path / "none.hst")
    with pytest.raises(TypeError, match="a list of a program and its arguments"):
        hotset.record("make -j4", tmp_path / "none.hst")


def test_programs_are_recorded_on_linux_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(hotset.Error, match="on Linux alone: record there, and open the trace here"):
        hotset.record(["true"], tmp_path / "none.hst")


@pytest.mark.parametrize(
    ("options", "typed"),
    [({}, []), ({"size": "1M", "store": "nvme", "app": "post*"}, ["--size", "1M", "--store", "nvme", "--app", "post*"])],
)
def test_advice_is_that_of_the_command(
    options: dict[str, Any], typed: list[str], command: Any, workload: Workload
) -> None:
    """On the trace of a database, whose buffers are compared, too."""
    assert [hotset.advise(workload("tpcc"), **options)] == command.rows("advise", workload("tpcc"), *typed)
    with pytest.raises(hotset.Error, match="^size=: "):
        hotset.advise(workload("tpcc"), "ten")


def test_a_trace_is_written_with_all_that_it_tells(workload: Workload, command: Any, tmp_path: Path) -> None:
    trace, path = hotset.open(workload("build")).filter(app="cc1"), tmp_path / "cc1.hst"
    trace.write(path)
    theirs = tmp_path / "theirs.hst"
    assert command.run("import", workload("build"), "--app", "cc1", "-o", theirs).returncode == 0
    assert (hotset.open(path).to_numpy() == hotset.open(theirs).to_numpy()).all()
    assert list(hotset.simulate(hotset.open(path, name="x"), "lru", 100)) == list(
        hotset.simulate(hotset.open(theirs, name="x"), "lru", 100)
    )
    keys = hotset.open(np.array([3, 1, 3], np.uint64), [10, 20, 10])
    keys.write(tmp_path / "keys.hst")
    again = hotset.open(tmp_path / "keys.hst").to_numpy()
    assert again["offset"].tolist() == [3, 1, 3] and again["length"].tolist() == [10, 20, 10]
    with pytest.raises(hotset.Error, match="it is the same file as the input"):
        hotset.open(path).write(path)


def test_tables_are_traces_and_traces_are_tables(workload: Workload) -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    keys, sizes = [5, 7, 5, 9], [10, 20, 10, 30]
    tables = [
        pandas.DataFrame({"time": [0, 1, 2, 3], "id": keys, "size": sizes}),
        pyarrow.table({"size": sizes, "key": keys}),
        pandas.DataFrame({"page": keys, "size": sizes}),
    ]
    try:
        import polars

        tables.append(polars.DataFrame({"obj_id": keys, "size": sizes}))
    except ImportError:
        pass
    expected = hotset.open(keys, sizes).to_numpy()
    for table in tables:
        assert (hotset.open(table).to_numpy() == expected).all()
    for column in (pandas.Series(keys), pyarrow.chunked_array([keys[:2], keys[2:]])):
        assert hotset.open(column).to_numpy()["offset"].tolist() == keys
    with pytest.raises(TypeError, match="expected whole numbers"):
        hotset.open(pandas.DataFrame({"key": ["a", "b"]}))
    with pytest.raises(ValueError, match="has no columns"):
        hotset.open(pandas.DataFrame())
    requests = hotset.open(workload("lu")).to_numpy()
    frame = hotset.open(workload("lu")).to_pandas()
    assert frame["offset"].tolist() == requests["offset"].tolist() and list(frame.columns)[0] == "time"
    assert hotset.open(workload("lu")).to_arrow().column("file").to_pylist() == requests["file"].tolist()


def test_addresses_are_fetched(workload: Workload) -> None:
    pytest.importorskip("pyarrow")
    address = Path(workload("lu")).as_uri()
    (row,) = hotset.simulate(address, "lru", 100)
    assert {**row, "trace": workload("lu")} == hotset.simulate(workload("lu"), "lru", 100)[0]
    assert list(hotset.sweep([address], "lru", 100)) == [row]
    with pytest.raises(FileNotFoundError):
        hotset.sweep([address + ".none"], "lru", 100)
