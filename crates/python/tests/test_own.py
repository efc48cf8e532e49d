"""Policies written in Python, beside those of the list in the same rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hotset
import numpy as np
import pytest
from test_check import Fails, Fifo, Forgetful, Lru, Sieve

Workload = Callable[[str], str]


def of(rows: hotset.Results, policy: str) -> list[dict[str, Any]]:
    """The rows of a policy, without its name and what only those of the list tell."""
    mine = [row for row in rows if row["policy"] == policy]
    return [{name: value for name, value in row.items() if name not in ("policy", "write_backs")} for row in mine]


class Empty:
    def __init__(self, size: int) -> None:
        pass


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ops": "reads", "block": "16K"},
        {"warmup": "20%", "count_only": "ops=reads"},
        {"deletes": "ignore", "maps": "all"},
        {"app": "cc1"},
    ],
)
def test_rows_are_those_of_the_same_policy_of_the_list(options: dict[str, Any], workload: Workload) -> None:
    """On a trace of several applications that writes and deletes, of several windows."""
    sizes: list[str | int] = ["1%", 1000]
    results = hotset.simulate(workload("build"), ["sieve", Lru, Sieve, "lru", "arc", Fifo], sizes, **options)
    of_list = hotset.simulate(workload("build"), "sieve,lru,arc,fifo", sizes, **options)
    policies = ["sieve", "Lru", "Sieve", "lru", "arc", "Fifo"]
    assert [row["policy"] for row in results] == [name for name in policies for _ in sizes]
    assert of(results, "Lru") == of(of_list, "lru") and of(results, "Fifo") == of(of_list, "fifo")
    assert [row for row in results if row["policy"] in ("sieve", "lru", "arc")] == [
        row for name in ("sieve", "lru", "arc") for row in of_list if row["policy"] == name
    ]
    assert "write_backs" not in next(row for row in results if row["policy"] == "Lru")
    # Sieve has no remove: a deleted key stays, as it does without deletions.
    if options.get("deletes") == "ignore":
        assert of(results, "Sieve") == of(of_list, "sieve")


def test_what_is_deleted_leaves_where_the_policy_lets_it(workload: Workload) -> None:
    path = workload("build")
    told, deaf = hotset.simulate(path, [Lru, Forgetful], 1000)
    (expected,) = hotset.simulate(path, "lru", 1000)
    assert told["hits"] == expected["hits"] != deaf["hits"]


def test_any_trace_and_any_table(tmp_path: Path) -> None:
    keys = np.random.default_rng(1).zipf(1.2, 100_000).astype(np.uint64)
    results = hotset.simulate(keys, [Sieve, "sieve"], [100, 1000])
    assert [row["hits"] for row in results[:2]] == [row["hits"] for row in results[2:]]
    assert "Sieve" in repr(results)
    results.to_parquet(tmp_path / "rows.parquet")
    assert list(hotset.simulate(keys, Lru, 50))[0]["hits"] == hotset.simulate(keys, "lru", 50)[0]["hits"]

    class Named(Lru):
        name = "mine"

    assert [row["policy"] for row in hotset.simulate(keys[:100], [Named, lambda size: Lru(size)], 5)] == ["mine", "<lambda>"]


def test_what_makes_no_sense_is_refused(workload: Workload) -> None:
    keys = np.arange(100, dtype=np.uint64)
    sized = hotset.open(keys, keys + 1)
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (keys, {"every": 10}, "every needs policies of the list"),
        (workload("tpcc"), {"store": "nvme"}, "store needs policies of the list"),
        (sized, {"sizes": "64K"}, "it has keys and no sizes: expected a number of objects"),
        (workload("tpcc"), {"memory": "64K"}, "a policy of your own needs every distinct block numbered"),
        (keys, {"policies": [Lru, "lrv"]}, "did you mean lru"),
    ]
    for trace, options, sentence in refused:
        with pytest.raises(hotset.Error, match=sentence):
            hotset.simulate(trace, **{"policies": [Lru], "sizes": "10 blocks", **options})
    with pytest.raises(LookupError, match="key 0"):
        hotset.simulate(keys, Fails, 10)
    with pytest.raises(AttributeError, match="access"):
        hotset.simulate(keys, [Empty], 10)  # type: ignore[list-item]
