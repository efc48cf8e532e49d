"""Announces to a running mount in which order files will be opened."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ._native import Error


@contextmanager
def epoch(
    order: Iterable[str | os.PathLike[str]],
    *following: Iterable[str | os.PathLike[str]],
    mount: str | os.PathLike[str] | None = None,
    command: str | os.PathLike[str] = "hotset",
) -> Iterator[None]:
    """Announces the order in which files will be opened, to the ``hotset mount`` that serves them.

    Within the ``with`` statement, the mount evicts first the file that is opened last, and prefetches the next files.
    Each of `following` is the order of a later epoch, as far as it is known. Paths are absolute, or relative to the
    mountpoint `mount`; without `mount` it is found from the first path. `command` runs the command ``hotset``.

    Raises ``Error`` if no mount serves the files, if a path is not below the mountpoint, or if the command cannot be
    run; ``ValueError`` if there is no path.
    """
    paths = [os.fspath(path) for part in (order, *following) for path in part]
    if not paths:
        raise ValueError("order is empty: expected at least one path")
    if broken := next((path for path in paths if "\n" in path), None):
        raise ValueError(f"order has {broken!r}: expected paths without line breaks")
    at = Path(mount) if mount is not None else _mountpoint(Path(paths[0]))
    with tempfile.NamedTemporaryFile("w", prefix="hotset-order-", suffix=".txt", encoding="utf-8") as listed:
        listed.write("\n".join(paths) + "\n")
        listed.flush()
        _control(command, at, f"@{listed.name}")
    try:
        yield
    finally:
        _control(command, at, "--end")


def _mountpoint(path: Path) -> Path:
    """The mountpoint that a path lies below."""
    path = path.absolute()
    return next(parent for parent in (path, *path.parents) if os.path.ismount(parent))


def _control(command: str | os.PathLike[str], mountpoint: Path, argument: str) -> None:
    asked = [os.fspath(command), "ctl", os.fspath(mountpoint), "expect", argument]
    try:
        done = subprocess.run(asked, capture_output=True, text=True)
    except OSError as error:
        raise Error(f"command={os.fspath(command)!r} cannot be run: {error.strerror}") from None
    if done.returncode:
        raise Error(done.stderr.strip().removeprefix("hotset: "))
