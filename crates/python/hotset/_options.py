"""The options that several functions take: their names, types and defaults, once. They are those of the command."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypedDict, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

#: One pattern or several.
Patterns = str | Iterable[str]
#: One spec, several between commas, or a list.
Specs = str | Iterable[str]
Sizes = str | int | Iterable[str | int]


class Filters(TypedDict, total=False):
    """Which requests are taken: ``--app``, ``--file``, ``--exclude``, ``--ops``, ``--from`` and ``--to``."""

    app: Patterns
    file: Patterns
    exclude: Patterns
    ops: str | None
    from_: str | int | None
    to: str | int | None


class Reading(Filters, total=False):
    """Also how they are cut into blocks."""

    block: str | int | None
    maps: Literal["auto", "all", "none"]
    memory: str | int | None


class Counting(Reading, total=False):
    """Also what counts of them."""

    deletes: Literal["apply", "ignore"]
    ttl: Literal["apply", "ignore"]
    warmup: str | int | None
    count_only: str | None


class Replaying(Counting, total=False):
    """Also how policies are replayed."""

    classes: str | os.PathLike[str] | None
    store: str | None
    every: str | int | None
    explain: bool
    seed: int
    keep_freed: bool


FILTERS: Filters = {"app": (), "file": (), "exclude": (), "ops": None, "from_": None, "to": None}
READING: Reading = {"block": None, "maps": "auto", "memory": None, **FILTERS}
COUNTING: Counting = {**READING, "deletes": "apply", "ttl": "apply", "warmup": None, "count_only": None}
REPLAYING: Replaying = {
    **COUNTING,
    "classes": None,
    "store": None,
    "every": None,
    "explain": False,
    "seed": 1,
    "keep_freed": False,
}


def takes(kind: type, defaults: Mapping[str, Any]) -> Callable[[F], F]:
    """Shows these options in the signature of a function that takes them as ``**options``."""

    def shown(function: F) -> F:
        own = inspect.signature(function)
        *others, _ = own.parameters.values()
        types = kind.__annotations__
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=_written(types[name]))
            for name, value in defaults.items()
        ]
        cast(Any, function).__signature__ = own.replace(parameters=[*others, *options])
        return function

    return shown


def _written(kind: Any) -> Any:
    """A type as the source has it."""
    return getattr(kind, "__forward_arg__", kind)


def whole(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """All options: those that are given, and the defaults of the others. Unknown ones are refused."""
    for name in given:
        if name not in defaults:
            raise TypeError(f"unknown option {name!r}: expected one of {', '.join(defaults)}")
    return {**defaults, **given}


def chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    """The filters among them."""
    return {name: options[name] for name in FILTERS}
