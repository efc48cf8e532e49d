"""Policies written in Python, held against those of the list."""

from __future__ import annotations

from collections import OrderedDict

import hotset
import pytest


class Sieve:
    """SIEVE: a hand goes from the oldest key to the newest and takes the first that was not used since it came by."""

    def __init__(self, size: int) -> None:
        self.size, self.used, self.order, self.hand = size, dict[int, bool](), list[int](), 0

    def access(self, key: int) -> bool:
        if key in self.used:
            self.used[key] = True
            return True
        if len(self.order) == self.size:
            while self.used[self.order[self.hand]]:
                self.used[self.order[self.hand]] = False
                self.hand = (self.hand + 1) % self.size
            del self.used[self.order.pop(self.hand)]
            self.hand %= max(1, self.size - 1)
        self.order.append(key)
        self.used[key] = False
        return False


class Lru:
    def __init__(self, size: int) -> None:
        self.size, self.keys = size, OrderedDict[int, None]()

    def access(self, key: int) -> bool:
        hit = key in self.keys
        self.keys[key] = None
        self.keys.move_to_end(key)
        if len(self.keys) > self.size:
            self.keys.popitem(last=False)
        return hit

    def remove(self, key: int) -> None:
        self.keys.pop(key, None)


class Fifo(Lru):
    def access(self, key: int) -> bool:
        if key in self.keys:
            return True
        return super().access(key)


class Forgetful(Lru):
    def remove(self, key: int) -> None:
        pass


class Fails(Lru):
    def access(self, key: int) -> bool:
        raise LookupError(f"key {key}")


def test_what_is_the_same_has_no_difference() -> None:
    assert hotset.check(Lru, "lru") is None and hotset.check(Fifo, "fifo") is None
    assert hotset.check(Sieve, "sieve") is None


def test_the_first_difference_is_told_on_a_short_trace() -> None:
    found = hotset.check(Fifo, "lru")
    assert found is not None
    # With two keys: one is used again, another comes in, and the one that was not used is asked for.
    one, other, _, third, _ = keys = [key for _, key in found.steps]
    assert found.size == 2 and keys == [one, other, one, third, other] and len({one, other, third}) == 3
    assert (found.expected, found.left_at) == (False, 3)
    assert str(found).splitlines()[0].endswith("expected a miss, yours is the other; it should have left at step 3")
    assert hotset.check(Fifo, "lru") == found
    found = hotset.check(Lru, "fifo")
    assert found is not None and found.expected and found.left_at is None and "expected a hit" in str(found)


def test_what_is_removed_must_be_gone() -> None:
    found = hotset.check(Forgetful, "lru")
    assert found is not None and [what for what, _ in found.steps] == ["access", "remove", "access"]
    assert str(found).splitlines()[1].split()[1].startswith("-")


def test_what_a_policy_raises_comes_out_whole() -> None:
    with pytest.raises(LookupError, match="key") as raised:
        hotset.check(Fails, "lru")
    assert raised.traceback[-1].name == "access"
    with pytest.raises(hotset.Error, match="did you mean"):
        hotset.check(Lru, "lrv")
