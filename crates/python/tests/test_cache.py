"""Caches: live hits are simulated hits; as a mapping; with threads, finalizers and the collector of cycles."""

from __future__ import annotations

import gc
import random
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import hotset
import numpy as np
import pytest

Workload = Callable[[str], str]

POLICIES = ["lru", "fifo", "sieve", "s3-fifo", "lirs", "arc", "2q", "clock", "lhd", "random", "lru-k"]


def keys_of(workload: Workload) -> Any:
    """Numbers of the files that a program has used, and where: some tens of thousands of keys."""
    requests = hotset.open(workload("tpcc")).filter(ops="data").to_numpy()[:60_000]
    return requests["file"].astype(np.uint64) << 40 | requests["offset"] // 8192


@pytest.mark.parametrize("policy", POLICIES)
def test_a_cache_hits_what_a_simulation_hits(policy: str, workload: Workload) -> None:
    keys = keys_of(workload)
    # A simulation of one more reference at every place: the hits of each.
    one_by_one, at_once = hotset.Cache(policy, 200), hotset.Cache(policy, 200)
    hits = np.array([one_by_one.access(key) for key in keys.tolist()])
    assert (at_once.access_many(keys) == hits).all()
    for end in (1000, 30_000, len(keys)):
        row = hotset.simulate(keys[:end], policy, 200)[0]
        assert row["hits"] == hits[:end].sum(), f"{policy} to reference {end}"
    assert (at_once.hits, at_once.misses) == (hits.sum(), len(keys) - hits.sum())
    assert sorted(at_once) == sorted(one_by_one.contents()) and len(at_once) <= 200


def test_every_policy_that_runs_agrees_with_its_simulation(workload: Workload) -> None:
    keys, different, tried = keys_of(workload)[:8000], set(), 0
    for policy in hotset.policies():
        try:
            cache = hotset.Cache(policy.name, 150)
        except hotset.Error:
            continue
        hits = cache.access_many(keys).sum()
        assert len(cache) <= 150
        if hotset.simulate(keys, policy.name, 150)[0]["hits"] != hits:
            different.add(policy.name)
        tried += 1
    assert different == LOOK_AROUND and tried > 50


#: Policies that ask where a block is or who refers to it, of which values tell nothing, or with other defaults where
#: requests are served as they come.
LOOK_AROUND = {
    *("apr", "auto", "best", "dulo", "equal", "qos", "sarc", "shared", "ubm", "ucp", "virtual", "w-tinylfu"),
}


def test_a_mapping_gives_what_was_put_in() -> None:
    for policy in ("lru", "s3-fifo", "lirs"):
        cache, model, draw = hotset.Cache(policy, 50), dict[Any, Any](), random.Random(3)
        for step in range(5000):
            key = draw.choice([step % 97, f"text {step % 89}", (step % 31, "pair"), step % 13 + 0.5, None, b"bytes"])
            if key in cache:
                assert cache[key] == model[key] and cache.peek(key) == model[key]
            if draw.random() < 0.1:
                was_there = key in cache
                assert cache.remove(key) is was_there and key not in cache
            else:
                cache[key] = model[key] = step
            assert len(cache) <= 50
        assert dict(cache.items()).items() <= model.items()
        assert sorted(map(repr, cache)) == sorted(map(repr, cache.contents()))


def test_numbers_are_the_same_key_whatever_their_type() -> None:
    cache = hotset.Cache("lru", 10)
    cache[5] = "five"
    for same in (5, 5.0, np.uint64(5), np.int8(5)):
        assert cache[same] == "five"
    cache[True] = "one"
    assert cache[1] == "one" and -1 not in cache and 5.5 not in cache and "5" not in cache
    big = [1 << 63, (1 << 64) - 1, 1 << 64, -1, -(1 << 70)]
    for number in big:
        cache[number] = number
    assert all(cache[number] == number for number in big) and 1.0e300 not in cache
    assert cache.access_many(np.array([5, 1, 7], np.uint64)).tolist() == [True, True, False]
    assert cache[7] is None and sorted(cache.contents()) == sorted([5, 1, 7, *big])


def test_a_key_s_own_hash_and_equality_decide() -> None:
    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            if isinstance(other, Point) and 99 in (self.x, other.x):
                raise RuntimeError("incomparable")
            return isinstance(other, Point) and self.x == other.x

    cache = hotset.Cache("arc", 5)
    cache[Point(1)], cache[Point(2)] = "a", "b"
    assert (cache[Point(1)], cache[Point(2)], Point(3) in cache) == ("a", "b", False)
    with pytest.raises(RuntimeError, match="incomparable"):
        cache.get(Point(99))
    assert cache[Point(1)] == "a", "the error is raised once"


def test_a_key_that_calls_the_cache_is_refused_and_a_finalizer_is_not() -> None:
    cache = hotset.Cache("lru", 2)

    class Caller:
        def __hash__(self) -> int:
            return 7

        def __eq__(self, other: object) -> bool:
            cache.access(1)
            return True

    class Last:
        def __del__(self) -> None:
            seen.append(cache.access("from the finalizer"))

    seen: list[bool] = []
    cache[Caller()] = 1
    with pytest.raises(RuntimeError, match="in use by this thread"):
        cache[Caller()] = 2
    cache.clear()
    cache["last"] = Last()
    cache.access_many([1, 2])
    assert seen == [False] and "from the finalizer" in cache
    cache.clear()
    assert len(cache) == 0 and (cache.hits, cache.misses) == (0, 0)


def test_resizing_follows_the_policy() -> None:
    cache = hotset.Cache("lru", 10)
    cache.access_many(range(10))
    cache.access(0)
    cache.resize(3)
    assert (sorted(cache.contents()), cache.size, len(cache)) == ([0, 8, 9], 3, 3)
    assert "3 of 3" in repr(cache) and cache.policy == "lru"
    del cache[0]
    with pytest.raises(KeyError):
        del cache[0]
    assert cache.get("absent", "default") == "default" and cache.get("absent") is None


def test_values_in_cycles_are_collected() -> None:
    class Value:
        pass

    cache, value = hotset.Cache("lru", 10), Value()
    cache["cycle"] = value
    cache[(value,)] = 1
    value.cache = cache  # type: ignore[attr-defined]
    watch = weakref.ref(value)
    del cache, value
    gc.collect()
    assert watch() is None

    @hotset.cached
    def function(argument: int) -> object:
        return function

    function(1)
    watched = weakref.ref(function)
    del function
    gc.collect()
    assert watched() is None


def test_values_leave_with_their_last_reference() -> None:
    class Value:
        pass

    cache = hotset.Cache("fifo", 3)
    values = [Value() for _ in range(5)]
    watches = [weakref.ref(value) for value in values]
    for number, value in enumerate(values):
        cache[number] = value
    del values, value
    assert [watch() is None for watch in watches] == [True, True, False, False, False]
    cache[2] = None
    cache.remove(3)
    assert [watch() is None for watch in watches[2:]] == [True, True, False]
    del cache
    assert watches[4]() is None


def test_threads_take_turns() -> None:
    cache, keys = hotset.Cache("s3-fifo", 1000), np.arange(1_000_000, dtype=np.uint64) % 5000
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(5):
                cache.access_many(keys)
                for at in range(200):
                    cache[(number, at)] = [number]
                    gc.collect(0)
                    found = cache.get((number, at))
                    assert found is None or found == [number]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(cache) <= 1000
    assert cache.hits + cache.misses >= 4 * 5 * 1_000_000


def test_values_end_after_their_time() -> None:
    cache = hotset.Cache("lru", 10)
    cache.put("a", 1, ttl=1)
    cache.put("b", 2)
    cache.put("c", 3, ttl=3600)
    assert (cache.get("a"), "c" in cache, len(cache)) == (1, True, 3)
    time.sleep(1.2)
    assert ("a" in cache, sorted(cache), cache.get("a"), len(cache)) == (False, ["b", "c"], None, 2)
    cache.put("c", 4, 0)
    cache["b"] = 5
    assert (cache.get("c"), cache["b"]) == (None, 5)
    for wrong in (-1, float("nan"), 1e300):
        with pytest.raises(ValueError, match="expected seconds, 0 or more"):
            cache.put("a", 1, ttl=wrong)

    calls = []

    @hotset.cached(size=10, ttl=1)
    def square(number: int) -> int:
        calls.append(number)
        return number * number

    assert (square(3), square(3), calls) == (9, 9, [3])
    time.sleep(1.2)
    assert (square(3), calls) == (9, [3, 3])


def test_results_of_functions_are_kept() -> None:
    calls: list[Any] = []

    @hotset.cached(policy="lirs", size=100)
    def add(one: int, other: int = 0, **more: int) -> int:
        """Adds."""
        calls.append((one, other, more))
        return one + other

    assert [add(1, 2), add(1, 2), add(1), add(1), add(2, 3)] == [3, 3, 1, 1, 5]
    assert (add(1, other=2), add(1, other=2), add(1, more=2)) == (3, 3, 1)
    assert len(calls) == 5 and add.__wrapped__(1, 2) == 3 and add.__doc__ == "Adds." and len(calls) == 6
    assert add.cache_info() == hotset.CacheInfo(hits=3, misses=5, maxsize=100, currsize=5)
    add.cache_clear()
    assert add.cache_info().currsize == 0 and len(add.cache) == 0

    class Owner:
        @hotset.cached
        def itself(self) -> Owner:
            return self

    one, other = Owner(), Owner()
    assert one.itself() is one and other.itself() is other and one.itself() is one
    with pytest.raises(TypeError, match="unhashable"):
        add([])  # type: ignore[arg-type]

    @hotset.cached
    def fails(argument: int) -> int:
        raise LookupError(argument)

    for _ in range(2):
        with pytest.raises(LookupError):
            fails(1)
    assert fails.cache_info().currsize == 0


def test_a_function_may_call_itself() -> None:
    @hotset.cached(size=1000)
    def fibonacci(number: int) -> int:
        return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)

    assert fibonacci(80) == 23416728348467685 and fibonacci.cache_info().misses == 81
