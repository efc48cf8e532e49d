"""Replays an experiment over a cluster for the command, which asks in JSON and is given the rows of each trace in a line."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from itertools import islice
from typing import Any

from . import _native
from ._sweep import sweep


def answers(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of each trace, or what is wrong."""
    if asked["version"] != _native.__version__:
        ours, theirs = _native.__version__, asked["version"]
        return [{"error": f"--on: the package for Python is hotset {ours}, and the command {theirs}: expected the same"}]
    try:
        results = sweep(asked["traces"], asked["policies"], asked["sizes"], **asked["options"])
    except (_native.Error, OSError, TypeError) as error:
        return [{"error": str(error)}]
    rows = iter(results)
    return [{"rows": list(islice(rows, count))} for count in results._per_trace]


def main() -> None:
    """Answers requests while the command runs."""
    out = sys.stdout
    # What others have to say does not come between the rows.
    sys.stdout = sys.stderr
    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=_until_nobody_asks, daemon=True).start()
    try:
        for answer in answers(asked):
            print(json.dumps(answer), file=out, flush=True)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)


def _until_nobody_asks() -> None:
    """Ends the sweep when the command has ended, which is not visible otherwise."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()
