"""Policies written in Python, held against one of the list, reference by reference."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ._native import Cache


class Difference(NamedTuple):
    """The first reference that a policy answers otherwise than the one it is held against."""

    #: Keys that fit.
    size: int
    #: The operations up to there, as short as it was found: ``("access", key)`` or ``("remove", key)``.
    steps: list[tuple[str, int]]
    #: Whether the last key is there by the policy of the list; yours says otherwise.
    expected: bool
    #: When the policy of the list let the key go, by number of the step; None if it has it, or never had.
    left_at: int | None

    def __str__(self) -> str:
        number, (_, key) = len(self.steps) - 1, self.steps[-1]
        asked = " ".join(f"{key}" if what == "access" else f"-{key}" for what, key in self.steps)
        expected = "a hit" if self.expected else "a miss"
        told = f"with {self.size} keys, step {number} refers to {key}: expected {expected}, yours is the other"
        if self.left_at is not None:
            told += f"; it should have left at step {self.left_at}"
        return f"{told}\n  {asked}"


def check(policy: Callable[[int], Any], like: str, *, seed: int = 1, rounds: int = 400) -> Difference | None:
    """Holds a policy in Python against one of the list, on many short traces and some long ones.

    Gives the first reference where the two differ, on the shortest trace it could find, or None if they never do.
    """
    for size, steps in _traces(random.Random(seed), rounds, removes=hasattr(policy, "remove")):
        length = _differs(policy, like, size, steps)
        if length is not None:
            return _told(like, size, _shortened(policy, like, size, steps[:length]))
    return None


def _traces(draw: random.Random, rounds: int, *, removes: bool) -> Iterator[tuple[int, list[tuple[str, int]]]]:
    """Few keys over and over, then more: short failures are found first."""
    for number in range(rounds):
        size = 2 + number % 7 if number < rounds * 9 // 10 else draw.randrange(10, 60)
        keys, length = max(3, size * 2), 20 + number if size < 10 else 2000
        steps = []
        for _ in range(length):
            # Some keys are used again and again.
            key = draw.randrange(keys) if draw.random() < 0.5 else draw.randrange(max(1, keys // 3))
            steps.append(("remove" if removes and draw.random() < 0.03 else "access", key))
        yield size, steps


def _differs(policy: Callable[[int], Any], like: str, size: int, steps: Sequence[tuple[str, int]]) -> int | None:
    """Steps up to the first on which they differ, that included."""
    mine, theirs = policy(size), Cache(like, size)
    for number, (what, key) in enumerate(steps):
        if what == "remove":
            mine.remove(key)
            theirs.remove(key)
        elif bool(mine.access(key)) != theirs.access(key):
            return number + 1
    return None


def _shortened(
    policy: Callable[[int], Any], like: str, size: int, steps: list[tuple[str, int]]
) -> list[tuple[str, int]]:
    """The same without steps that it does not need."""
    at = len(steps) - 1
    while at > 0:
        at = min(at, len(steps)) - 1
        fewer = steps[:at] + steps[at + 1 :]
        length = _differs(policy, like, size, fewer)
        if length is not None:
            steps = fewer[:length]
    return steps


def _told(like: str, size: int, steps: list[tuple[str, int]]) -> Difference:
    theirs, key = Cache(like, size), steps[-1][1]
    left_at = None
    for number, (what, other) in enumerate(steps[:-1]):
        was_there = key in theirs
        getattr(theirs, what)(other)
        if key in theirs:
            left_at = None
        elif was_there:
            left_at = number
    return Difference(size, steps, key in theirs, left_at)
