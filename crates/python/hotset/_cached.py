"""Functions whose results are cached, under any policy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast, overload

from ._native import Cache
from ._native import Cached as _Native

P = ParamSpec("P")
R = TypeVar("R")

#: The marker in keys between arguments without names and those with names.
_MARK = object()


class CacheInfo(NamedTuple):
    """How a cache of results has done."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


class Cached(Generic[P, R]):
    """What ``cached`` makes of a function. (At run time it is native; this is its type.)"""

    cache: Cache
    __wrapped__: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        raise NotImplementedError

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., R]:
        raise NotImplementedError

    def cache_info(self) -> CacheInfo:
        """Hits, misses, how many results fit and how many are there."""
        raise NotImplementedError

    def cache_clear(self) -> None:
        """Takes all results out; counts begin again."""
        raise NotImplementedError


@overload
def cached(function: Callable[P, R], /) -> Cached[P, R]: ...
@overload
def cached(*, policy: str = ..., size: int = ..., ttl: float | None = ...) -> Callable[[Callable[P, R]], Cached[P, R]]: ...
def cached(function: Any = None, /, *, policy: str = "lru", size: int = 128, ttl: float | None = None) -> Any:
    """Keeps results of a function by its arguments, as ``functools.lru_cache`` does, under any policy.

    With ``ttl`` a result ends after so many seconds, and the function is called again.

    Arguments must be hashable. A call that raises is not kept. As with ``functools.lru_cache``, threads that miss the
    same arguments at once each call the function.
    """
    if function is None:
        return lambda function: cached_under(policy, size, ttl, function)
    return cached_under(policy, size, ttl, function)


def cached_under(policy: str, size: int, ttl: float | None, function: Callable[P, R]) -> Cached[P, R]:
    """The function with a cache."""
    cache = Cache(policy, size)
    native = _Native(function, cache, _MARK, ttl)
    functools.update_wrapper(cast(Any, native), function)

    def cache_info() -> CacheInfo:
        return CacheInfo(cache.hits, cache.misses, cache.size, len(cache))

    wrapped = cast(Any, native)
    wrapped.cache_info = cache_info
    wrapped.cache_clear = cache.clear
    return cast("Cached[P, R]", native)
