"""Shared by the tests: the command to compare with, and small committed traces."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
WORKLOADS = ROOT / "workloads"


class Command:
    """The command `hotset`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True, timeout=300)

    def rows(self, *arguments: object) -> list[dict[str, Any]]:
        done = self.run(*arguments, "--json", "-")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def refusal(self, *arguments: object) -> str:
        """The sentence with which it refuses, which may have several lines; remarks on the trace are left out."""
        done = self.run(*arguments)
        assert done.returncode != 0, done.stdout
        return done.stderr[done.stderr.rindex("hotset: ") :] if "\nhotset: " in done.stderr else done.stderr


@pytest.fixture(scope="session")
def command() -> Command:
    path = Path(os.environ.get("HOTSET", ROOT / "target/debug/hotset"))
    assert path.exists(), f"{path} is not built: expected the command, from cargo build or named by HOTSET"
    return Command(path)


@pytest.fixture(scope="session")
def workload() -> Callable[[str], str]:
    return lambda name: str(WORKLOADS / f"{name}.hst")
