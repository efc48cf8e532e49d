"""Experiment files: the rows of a sweep over what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hotset
import pytest
from conftest import WORKLOADS
from test_results import pgt

EXPERIMENT = """
title = "T"
source = "S"
traces = ["tpcc.hst", "lu.hst"]
policies = "lru,qos(lru),opt"
sizes = "1%,300 blocks"
only = "ops=reads"
warmup = "10%"
deletes = "ignore"

[[mix]]
name = "both"
by = "page"
goals = "lu=70%"
size = "16M"
apps = [{ name = "lu", trace = "lu.hst", loops = 2 }, { name = "tpcc", trace = "tpcc.hst" }]
"""


@pytest.fixture(autouse=True)
def beside_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOTSET_TRACES", raising=False)


def test_rows_are_those_of_a_sweep_and_of_mixes(tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text(EXPERIMENT)
    results = hotset.experiment(file, traces=WORKLOADS)
    paths = [str(WORKLOADS / name) for name in ("tpcc.hst", "lu.hst")]
    expected = hotset.sweep(paths, "lru,qos(lru),opt", "1%,300 blocks", ops="reads", warmup="10%", deletes="ignore")
    assert len(expected) == 12 and len(results) == 15 and "refaults" not in results[0]
    assert [{**row, "trace": str(WORKLOADS / row["trace"])} for row in results[:12]] == list(expected)
    mixed = results[12:]
    assert {row["trace"] for row in mixed} == {"both"} and [row["policy"] for row in mixed] == ["lru", "qos(lru)", "opt"]
    lu = next(app for app in mixed[1]["apps"] if app["name"] == "lu")
    assert lu["promised"] == 0.7 and len(results.to_arrow()) == 15


def test_traces_lie_beside_the_file_and_may_be_of_memory(tmp_path: Path) -> None:
    (tmp_path / "loop.pgt").write_bytes(pgt([page for _ in range(20) for page in range(200)]))
    file = tmp_path / "memory.toml"
    measure = 'measure = "faults_per_million_references"'
    file.write_text(f'title = "T"\nsource = "S"\ntraces = ["loop.pgt"]\npolicies = "clock,fifo"\nsizes = "50%"\n{measure}\n')
    results = hotset.experiment(file)
    assert "refaults" in results[0]
    assert [row["misses"] for row in results] == [
        row["misses"] for row in hotset.simulate(tmp_path / "loop.pgt", "clock,fifo", "50%")
    ]


def test_on_a_cluster_it_is_a_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hotset import _sweep

    asked: dict[str, Any] = {}

    def sweep(*arguments: Any, on: str, keep: Any, **options: Any) -> hotset.Results:
        asked.update(on=on, keep=keep)
        return hotset.sweep(*arguments, **options)

    monkeypatch.setattr(_sweep, "sweep", sweep)
    file = tmp_path / "some.toml"
    file.write_text(EXPERIMENT[: EXPERIMENT.index("[[mix]]")])
    over = hotset.experiment(file, traces=WORKLOADS, on="ray://a:1", keep=tmp_path)
    assert asked == {"on": "ray://a:1", "keep": tmp_path}
    assert list(over) == list(hotset.experiment(file, traces=WORKLOADS))


def test_what_is_wrong_is_said_in_the_words_of_the_command(command: Any, tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    for text in (EXPERIMENT.replace("lru,qos", "lrv,qos"), EXPERIMENT.replace("title", "name"), EXPERIMENT):
        file.write_text(text)
        with pytest.raises(hotset.Error) as raised:
            hotset.experiment(file)
        assert f"hotset: {raised.value}" == command.refusal("experiment", file, "--json", "-").rstrip()
    with pytest.raises(hotset.Error, match="keep= applies to a cluster only"):
        hotset.experiment(file, traces=WORKLOADS, keep=tmp_path)
    with pytest.raises(hotset.Error, match="has mixes, which one machine replays"):
        hotset.experiment(file, traces=WORKLOADS, on="ray")
    with pytest.raises(FileNotFoundError):
        hotset.experiment(tmp_path / "none.toml")
