"""Records a program in a separate process, since it handles signals for the program: ``record`` runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from . import _native


def record_here(asked: str) -> None:
    """Records what JSON asks for, and writes what there is to say where that wants it."""
    command, output, app_by, memory, told = json.loads(asked)
    try:
        status, remarks = _native.record(command, output, app_by, memory)
        answer: dict[str, Any] = {"status": status, "remarks": remarks}
    except _native.Error as error:
        answer = {"error": str(error)}
    Path(told).write_text(json.dumps(answer))


if __name__ == "__main__":
    record_here(sys.argv[1])
