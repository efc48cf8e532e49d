"""What Python gives is what the command gives, row by row and word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import hotset
import numpy as np
import pytest

Workload = Callable[[str], str]

#: Options of Python, and the same of the command.
WAYS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"block": "16K", "maps": "all", "deletes": "ignore"}, ["--block", "16K", "--maps", "all", "--deletes", "ignore"]),
    ({"block": 8192, "seed": 7}, ["--block", "8192", "--seed", "7"]),
    ({"ops": "reads", "warmup": "20%"}, ["--ops", "reads", "--warmup", "20%"]),
    ({"app": "post*", "from_": 5000, "to": "60000"}, ["--app", "post*", "--from", "5000", "--to", "60000"]),
    ({"exclude": ["*.log", "*_vm"], "count_only": "ops=reads"}, ["--exclude", "*.log", "--exclude", "*_vm", "--count-only", "ops=reads"]),
    ({"store": "nvme"}, ["--store", "nvme"]),
    ({"memory": "64K"}, ["--memory", "64K"]),
]


@pytest.mark.parametrize(("options", "typed"), WAYS)
def test_rows_of_simulate_are_those_of_the_command(
    options: dict[str, Any], typed: list[str], command: Any, workload: Workload
) -> None:
    path = workload("tpcc")
    policies, sizes = "lru,s3-fifo,2q(kin=30%),random,auto", "100 blocks,1000 blocks"
    expected = command.rows("simulate", path, "--policy", policies, "--size", sizes, *typed)
    results = hotset.simulate(path, policies.split(","), [100, 1000], **options)
    assert list(results) == expected and len(results) == 10


def test_objects_expire_and_are_weighed_as_in_the_command(command: Any, tmp_path: Path) -> None:
    path = tmp_path / "objects.csv"
    lines = (f"{at},{at * at % 97},{'RW'[at % 2]},{at * at % 97 + 5},{at % 40}" for at in range(3000))
    path.write_text("time_s,key,op,size,ttl\n" + "\n".join(lines) + "\n")
    hits = {}
    for ttl in ("apply", "ignore"):
        results = list(hotset.simulate(path, "lru,s3-fifo", "30 blocks", ttl=ttl))
        assert results == command.rows("simulate", path, "--policy", "lru,s3-fifo", "--size", "30 blocks", "--ttl", ttl)
        hits[ttl] = results[0]["hits"]
    assert 0 < hits["apply"] < hits["ignore"]
    drawn = list(hotset.curve(path, bytes=True, points=5, sample=0.5, ttl="ignore"))
    assert drawn == command.rows("curve", path, "--bytes", "--points", "5", "--sample", "0.5", "--ttl", "ignore")
    assert len(drawn) == 5 and drawn[0]["byte_hit_ratio"] <= drawn[0]["bound_byte_hit_ratio"]


def test_without_policies_and_sizes_it_is_the_choice_of_the_command(command: Any, workload: Workload) -> None:
    path = workload("office")
    assert list(hotset.simulate(path)) == command.rows("simulate", path)


def test_filters_of_the_trace_are_those_of_the_command(command: Any, workload: Workload) -> None:
    path = workload("build")
    trace = hotset.open(path).filter(app="cc1", exclude="*.o").filter(ops="reads")
    typed = ["--app", "cc1", "--exclude", "*.o", "--ops", "reads"]
    expected = command.rows("simulate", path, "--policy", "lru,opt", "--size", "1%,10%", *typed)
    assert list(hotset.simulate(trace, "lru,opt", ["1%", "10%"])) == expected
    assert 0 < len(trace) < len(hotset.open(path))
    with pytest.raises(hotset.Error, match="app is given twice"):
        trace.filter(app="ld")


def test_series_and_what_is_learnt(command: Any, workload: Workload, tmp_path: Path) -> None:
    path, series = workload("tpcc"), tmp_path / "series.jsonl"
    options = ["--policy", "auto", "--size", "500 blocks", "--explain"]
    expected = command.rows("simulate", path, *options, "--series", series, "--every", "10000")
    results = hotset.simulate(path, "auto", 500, explain=True, every=10000)
    assert list(results) == expected and "explained" in results[0]
    assert results.series == [json.loads(line) for line in series.read_text().splitlines()] and results.series


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        ({}, []),
        ({"policies": "lru,arc", "points": 7}, ["--policy", "lru,arc", "--points", "7"]),
        ({"points": "all"}, ["--points", "all"]),
        ({"policies": "lru", "sample": 0.1, "seed": 3}, ["--policy", "lru", "--sample", "0.1", "--seed", "3"]),
        ({"policies": "lru", "sample_size": 500}, ["--policy", "lru", "--sample-size", "500"]),
    ],
)
def test_curves_are_those_of_the_command(
    options: dict[str, Any], typed: list[str], command: Any, workload: Workload
) -> None:
    assert list(hotset.curve(workload("lu"), **options)) == command.rows("curve", workload("lu"), *typed)


def test_arrays_are_traces_of_objects(command: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    keys = random.zipf(1.2, 30_000).astype(np.uint64)
    file = tmp_path / "keys.txt"
    file.write_text("".join(f"{key}\n" for key in keys))
    expected = command.rows("simulate", file, "--format", "ids", "--policy", "lru,sieve,opt", "--size", "10 blocks,5%")
    for source in (keys, keys.tolist(), iter(keys.tolist()), keys.astype(np.int64), np.repeat(keys, 2)[::2]):
        rows = list(hotset.simulate(hotset.open(source, name=str(file)), "lru,sieve,opt", "10 blocks,5%"))
        assert rows == expected
    sizes = keys % 1000 + 1
    table = tmp_path / "sized.csv"
    table.write_text("id,size\n" + "".join(f"{key},{size}\n" for key, size in zip(keys, sizes)))
    expected = command.rows("simulate", table, "--policy", "lru,gdsf", "--size", "100K,2000 blocks")
    for trace in (
        hotset.open(keys, sizes, name=str(table)),
        hotset.open(np.stack([keys, sizes], axis=1), name=str(table)),
        hotset.open(table.read_bytes(), name=str(table)),
    ):
        assert list(hotset.simulate(trace, "lru,gdsf", "100K,2000 blocks")) == expected


def pgt(pages: list[int]) -> bytes:
    """A trace of references to these pages of memory, one each."""
    written, before = bytearray(), 0
    for page in pages:
        delta, before = page - before, page
        number = delta * 2 if delta >= 0 else -delta * 2 - 1
        while number >= 128:
            written.append(number & 127 | 128)
            number >>= 7
        written += bytes([number, 2])
    return bytes(written)


def test_traces_of_memory_give_rows_of_paging(command: Any, tmp_path: Path) -> None:
    path = tmp_path / "loop.pgt"
    path.write_bytes(pgt([page for _ in range(20) for page in range(200)]))
    for policies in ("clock,fifo", None):
        typed = ["--policy", policies] if policies else []
        expected = command.rows("simulate", path, "--size", "10%,50%", "--keep-freed", *typed)
        results = hotset.simulate(path, policies, "10%,50%", keep_freed=True)
        assert list(results) == expected and "refaults" in results[0] and len(results) >= 4
    ways: list[tuple[dict[str, Any], list[str]]]
    ways = [({"store": "nvme"}, ["--store", "nvme"]), ({"ops": "reads"}, ["--ops", "reads"])]
    for options, typed in ways:
        with pytest.raises(hotset.Error) as raised:
            hotset.simulate(path, "clock", 10, **options)
        refusal = command.refusal("simulate", path, "--policy", "clock", "--size", "10 blocks", *typed)
        assert f"hotset: {raised.value}\n" == re.sub(r"--(\w+)", r"\1=", refusal)


def test_what_a_trace_is(command: Any, workload: Workload) -> None:
    trace = hotset.open(workload("tpcc"))
    told = command.run("inspect", workload("tpcc"), "--json", "-")
    inspected = json.loads(told.stdout)
    info = trace.info()
    assert (info["format"], info["requests"], info["block_bytes"]) == ("hst", inspected["requests"], 4096)
    requests = trace.to_numpy()
    assert len(requests) == len(trace) == inspected["requests"]
    assert requests["time"].max() - requests["time"].min() == round(inspected["time_span_s"] * 1e9)
    assert requests["file"].max() < info["files"] and requests["app"].max() < len(info["applications"])
    assert "tpcc.hst" in repr(trace) and bool(trace)


def test_tables(workload: Workload, tmp_path: Path, command: Any) -> None:
    results = hotset.simulate(workload("lu"), "lru,arc", "10,100 blocks")
    frame, table = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    told = results.to_pandas()
    assert list(told.columns)[:4] == ["version", "trace", "policy", "size_blocks"]
    assert told["hits"].tolist() == [row["hits"] for row in results]
    assert isinstance(told, frame.DataFrame)
    arrow = results.to_arrow()
    assert isinstance(arrow, table.Table) and arrow.column("hits").to_pylist() == [row["hits"] for row in results]
    file, theirs = tmp_path / "rows.parquet", tmp_path / "theirs.parquet"
    results.to_parquet(file)
    command.rows("simulate", workload("lu"), "--policy", "lru,arc", "--size", "10 blocks,100 blocks", "--parquet", theirs)
    assert file.read_bytes() == theirs.read_bytes()
    lines = command.run("simulate", workload("lu"), "--policy", "lru,arc", "--size", "10 blocks,100 blocks", "--json", "-").stdout
    assert [json.loads(line) for line in results.to_json().splitlines()] == [json.loads(line) for line in lines.splitlines()]


def test_results_are_a_sequence_with_pictures(workload: Workload) -> None:
    results = hotset.simulate(workload("lu"), "lru,opt", "10,100 blocks")
    assert [row["policy"] for row in results[1:3]] == ["lru", "opt"] and results[-1]["policy"] == "opt"
    assert (results + results)[4:] == results and results != results[:1]
    assert len(repr(results).splitlines()) == 5 and "<td>opt</td>" in results._repr_html_()
    assert "<svg" in results._repr_html_() and "<svg" not in results[::2]._repr_html_(), "one size does not make a line"
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = results.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["lru", "opt"]
    assert list(np.asarray(axes.get_lines()[0].get_ydata())) == [row["hit_ratio"] for row in results[:2]]
    with pytest.raises(KeyError):
        results.plot("colour")


def drawn(results: hotset.Results) -> dict[str, list[tuple[float, float, str]]]:
    """The points of each line of the chart: where they are, and what they tell."""
    told = results._repr_html_()
    picture = ElementTree.fromstring(told[: told.index("<table>")])
    lines: dict[str, list[tuple[float, float, str]]] = {}
    for dot in picture.iter("{http://www.w3.org/2000/svg}circle"):
        name, text = (dot[0].text or "").rsplit(", ", 1)
        lines.setdefault(name, []).append((float(dot.get("cx", "")), float(dot.get("cy", "")), text))
    return lines


def test_the_chart_has_all_points_where_they_belong(workload: Workload) -> None:
    results = hotset.simulate(workload("tpcc"))
    lines, by_name = drawn(results), results._lines("hit_ratio")
    assert lines.keys() == by_name.keys() and len(lines) > 8
    for name, points in by_name.items():
        assert [text for *_, text in lines[name]] == [f"{size:,}: {ratio:.6g}" for size, ratio in points]
    # Sizes lie by their logarithms, ratios by themselves.
    places = [(size, ratio, x, y) for name in lines for (size, ratio), (x, y, _) in zip(by_name[name], lines[name])]
    sizes, ratios, xs, ys = map(np.array, zip(*places))
    for values, at in ((np.log(sizes), xs), (ratios, ys)):
        slope, begin = np.polyfit(values, at, 1)
        assert np.abs(slope * values + begin - at).max() < 0.11
    assert xs.min() >= 0 and xs.max() <= 720 and ys.min() >= 0 and ys.max() <= 320
    assert np.polyfit(ratios, ys, 1)[0] < 0 < np.polyfit(np.log(sizes), xs, 1)[0], "more is higher, and further right"


def test_charts_at_their_ends(workload: Workload) -> None:
    flat = hotset.simulate([1, 2, 3], "lru,opt", "1,2 blocks")
    assert len(drawn(flat)) == 2 and {y for points in drawn(flat).values() for _, y, _ in points} == {274.0}
    keys = np.random.default_rng(1).zipf(1.2, 10_000).astype(np.uint64)
    sized = hotset.simulate(hotset.open(keys, keys % 1000 + 1, name="<b>&"), "gdsf,lru", "64K,1536K")
    assert "cache size (bytes)" in sized._repr_html_() and ">1.5M<" in sized._repr_html_()
    two = sized + hotset.simulate(hotset.open(keys, keys % 10 + 1), "gdsf,lru", "64K,1536K")
    assert set(drawn(two)) >= {"gdsf, <b>&", "gdsf, array"}
    assert hotset.Results([])._repr_html_().startswith("<table>")


def test_policies_are_those_of_the_registry(command: Any) -> None:
    known = {policy.name: policy for policy in hotset.policies()}
    assert len(known) > 50 and known["opt"].offline and not known["lru"].offline
    assert known["sieve"].doc.strip() in command.run("policies", "sieve").stdout
    listed = command.run("policies").stdout
    assert all(name in listed and policy.summary.split()[0] in listed for name, policy in known.items())
    parameters = {parameter.name: parameter for parameter in known["s3-fifo"].parameters}
    assert parameters["small"].default == "10%"


@pytest.mark.parametrize(
    ("options", "typed"),
    [
        ({}, []),
        ({"by": "dir", "top": 3, "block": "8K"}, ["--by", "dir", "--top", "3", "--block", "8K"]),
        ({"ops": "reads", "app": "cc1"}, ["--ops", "reads", "--app", "cc1"]),
    ],
)
def test_inspections_are_those_of_the_command(
    options: dict[str, Any], typed: list[str], command: Any, workload: Workload
) -> None:
    assert [hotset.inspect(workload("build"), **options)] == command.rows("inspect", workload("build"), *typed)
