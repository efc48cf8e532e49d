"""An order of files that is announced to a mount."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Command

import hotset

FILES = 40
BYTES = 32 << 10


@pytest.fixture
def mount(command: Command, tmp_path: Path) -> Iterator[Path]:
    """A mount of 40 files with memory for ten."""
    if not os.path.exists("/dev/fuse"):
        pytest.skip("there is no /dev/fuse")
    source, at = tmp_path / "source", tmp_path / "at"
    source.mkdir()
    at.mkdir()
    for number in range(FILES):
        (source / f"{number}.bin").write_bytes(bytes([number]) * BYTES)
    options = ["--memory", "320K", "--block", "16K", "--policy", "lru"]
    served = subprocess.Popen([command.path, "mount", source, at, *options], stderr=subprocess.PIPE)
    while not os.path.ismount(at):
        assert served.poll() is None, served.communicate()
        time.sleep(0.01)
    yield at
    served.terminate()
    served.communicate(timeout=20)


def status(command: Command, at: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(command.run("ctl", at, "status").stdout)
    return found


def test_an_announced_epoch_keeps_what_is_still_to_come(command: Command, mount: Path) -> None:
    shuffled = random.Random(1)
    hits = []
    for is_announced in (False, True):
        before = status(command, mount)["hits"]
        for _ in range(4):
            order = shuffled.sample([mount / f"{number}.bin" for number in range(FILES)], FILES)
            if is_announced:
                with hotset.epoch(order, command=command.path):
                    for path in order:
                        assert path.read_bytes() == bytes([int(path.stem)]) * BYTES
            else:
                for path in order:
                    path.read_bytes()
        after = status(command, mount)["hits"]
        assert isinstance(before, int) and isinstance(after, int)
        hits.append(after - before)
    # A quarter of two blocks of each file, in three epochs at least.
    assert hits[1] >= 3 * FILES // 4 * 2 > hits[0]
    order_now = status(command, mount)["order"]
    assert isinstance(order_now, dict) and order_now["opened"] == FILES


def test_what_cannot_be_announced_is_refused(command: Command, mount: Path) -> None:
    def refusal(*orders: list[str], **others: object) -> str:
        with pytest.raises((hotset.Error, ValueError)) as error:
            with hotset.epoch(*orders, **{"command": command.path, **others}):  # type: ignore[arg-type]
                pass
        return str(error.value)

    assert "order is empty" in refusal([])
    assert "without line breaks" in refusal(["a\nb"])
    assert "neither `hotset mount` nor" in refusal(["/etc/passwd"])
    assert "/etc/passwd is not below" in refusal(["/etc/passwd"], mount=mount)
    assert "cannot be run" in refusal(["0.bin"], mount=mount, command="/nowhere/hotset")
    with hotset.epoch(["0.bin"], ["1.bin", "0.bin"], mount=mount, command=command.path):
        order = status(command, mount)["order"]
        assert isinstance(order, dict) and (order["uses"], order["files"]) == (3, 2)
