"""Long work: ended by Ctrl-C, beside other threads, after a fork, and how long the package takes to import."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import hotset
import numpy as np
import pytest

Workload = Callable[[str], str]


def keys(count: int) -> np.typing.NDArray[np.uint64]:
    return np.random.default_rng(1).zipf(1.1, count).astype(np.uint64)


LONG = """
import hotset, numpy as np, sys, time, signal
keys = np.arange(3_000_000, dtype=np.uint64) * 2654435761 % (1 << 20)
trace = hotset.open(keys)
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    # It goes on as before.
    print(hotset.simulate([1, 1], "lru", 1)[0]["hits"], flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "hotset.simulate(trace, 'lhd,cacheus,lrfu,lecar', '1%..50%*1.05')",
        "hotset.curve(trace, 'lhd,cacheus', points=1000)",
    ],
)
def test_ctrl_c_ends_long_work_within_a_second(call: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", LONG.format(call=call)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(1.5)
    assert child.poll() is None, "it is long"
    begun = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    took = time.monotonic() - begun
    assert took < 1, f"{took:.2f} s"
    assert child.stdout.readline() == "1\n"
    assert child.wait(20) == 0


def test_threads_simulate_at_once_while_python_goes_on() -> None:
    trace = hotset.open(keys(400_000))
    alone = hotset.simulate(trace, "arc,lirs", "100,10000 blocks", threads=1)
    given: list[hotset.Results] = []
    work = [
        threading.Thread(target=lambda: given.append(hotset.simulate(trace, "arc,lirs", "100,10000 blocks", threads=1)))
        for _ in range(3)
    ]
    for thread in work:
        thread.start()
    turns = 0
    while any(thread.is_alive() for thread in work):
        turns += 1
        time.sleep(0.001)
    assert given == [alone] * 3 and turns > 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_simulates_as_well() -> None:
    code = """
import hotset, os
expected = hotset.simulate(range(1000), "arc,lru", "10,500 blocks")
child = os.fork()
if child == 0:
    os._exit(0 if hotset.simulate(range(1000), "arc,lru", "10,500 blocks") == expected else 1)
print(os.waitpid(child, 0)[1])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "0\n", done.stderr


def test_it_is_imported_at_once_and_without_numpy() -> None:
    code = "import sys, time; t = time.process_time(); import hotset; print(time.process_time() - t, 'numpy' in sys.modules)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() for _ in range(5)]
    assert {numpy for _, numpy in runs} == {"False"}
    assert statistics.median(float(seconds) for seconds, _ in runs) < 0.050


def test_progress_is_shown_by_tqdm_where_it_is_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    trace = hotset.open(keys(1_000_000))
    expected = hotset.simulate(trace, "lru,lhd,lrfu", "1%..50%*1.05")
    assert capfd.readouterr().err == "", "nobody looks"
    assert hotset.simulate(trace, "lru,lhd,lrfu", "1%..50%*1.05", progress=True) == expected
    told = capfd.readouterr().err
    assert "references" in told and "%|" in told
    assert hotset.simulate([1, 2, 1], "lru", 2, progress=True)[0]["hits"] == 1
    assert capfd.readouterr().err == "", "it takes no longer than a moment"
