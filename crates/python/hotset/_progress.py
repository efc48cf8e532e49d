"""How far long work is, where tqdm can show it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ._job import Told

#: What takes no longer shows nothing.
_MOMENT_SECONDS = 1


class Bar:
    """A bar of tqdm, drawn once a moment has passed, or none."""

    def __init__(self, draw: Callable[[], Any] | None) -> None:
        self._draw, self._begun = draw, time.monotonic()
        self._shown: Any = None
        self._done = 0

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._shown is not None:
            self._shown.close()

    @property
    def told(self) -> Told | None:
        """The receiver of a replay's progress; none if progress is not shown."""
        return None if self._draw is None else self._at

    def advance(self, by: int) -> None:
        """So much more is done."""
        self._done += by
        if self._is_drawn():
            self._shown.update(self._done - self._shown.n)

    def _at(self, done: int, total: int) -> None:
        if self._is_drawn():
            if (total or None) != self._shown.total or done < self._shown.n:
                # The next stage: the trace that was read is replayed now.
                self._shown.reset(total or None)
            self._shown.update(done - self._shown.n)

    def _is_drawn(self) -> bool:
        if self._shown is None and self._draw is not None and time.monotonic() - self._begun > _MOMENT_SECONDS:
            self._shown = self._draw()
        return self._shown is not None


def bar(wanted: bool | None, what: str, total: int | None = None) -> Bar:
    """A bar for a number of things, if it is requested; by default in notebooks and at a terminal."""
    in_notebook = "ipykernel" in sys.modules
    if wanted is False or wanted is None and not (in_notebook or sys.stderr is not None and sys.stderr.isatty()):
        return Bar(None)
    try:
        tqdm = _tqdm(in_notebook)
    except ImportError:
        if wanted:
            raise
        return Bar(None)
    return Bar(lambda: tqdm(total=total, unit=f" {what}", unit_scale=True, leave=False))


def _tqdm(in_notebook: bool) -> Any:
    """The bar for where it is shown. That of notebooks is made of ipywidgets."""
    from importlib.util import find_spec

    if in_notebook and find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm as of_notebooks

        return of_notebooks
    from tqdm import tqdm

    return tqdm
