#!/usr/bin/env python3
"""The kernel's page cache alone beside the same one under `hotset steer`, at the same limit of a control group, on the same files and a throttled disk.

    benches/steer.py --hotset target/release/hotset --folder DIR [--memory 152] [--pairs 3] [--rate 100] [--out FILE]

Each row is one way of reading 1.7 times the memory (zipf: 2.5 times). A pair is the kernel alone and steered, one right after the other, in turns which comes
first; every run begins with nothing cached and a new control group. The second half of a run counts: by then steering has begun, if it does. `disk` is what
the readers had read from disk (read_bytes of /proc/PID/io) per byte that they asked for; differences are means of pairs with 95 % intervals (Student). The disk
is slowed by the readers' control group (blkio.throttle, or io.max) to RATE MiB/s; where neither can be had that is said, and the disk is as fast as it is.
Needs root, control groups with memory, and DIR on a disk.
"""

import argparse
import itertools
import json
import math
import os
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK = 64 * 1024
MEMORY_1 = Path("/sys/fs/cgroup/memory")
BLKIO_1 = Path("/sys/fs/cgroup/blkio")
# Student's t for 95 %, by degrees of freedom.
STUDENT = [math.inf, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26]

READER = r"""
import json, mmap, os, sys, time
path, plan, way = sys.argv[1:4]
blocks = json.load(open(plan))
file = os.open(path, os.O_RDONLY)
if way != "ahead":
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
mapped = mmap.mmap(file, 0, prot=mmap.PROT_READ) if way == "mmap" else None
def from_disk():
    return next(int(line.split()[1]) for line in open("/proc/self/io") if line.startswith("read_bytes"))
BLOCK, buffer, half = 65536, [bytearray(65536)], len(blocks) // 2
marks = []
for part in (blocks[:half], blocks[half:]):
    started, before = time.monotonic(), from_disk()
    for block in part:
        if mapped:
            at = block * BLOCK
            for page in range(at, at + BLOCK, 4096):
                mapped[page]
        else:
            os.preadv(file, buffer, block * BLOCK)
    marks.append((time.monotonic() - started, from_disk() - before, len(part) * BLOCK))
print(json.dumps(marks))
"""


class Group:
    """Control groups of the readers: a limit of memory, and one of the disk."""

    def __init__(self, limit, device, rate):
        self.is_old = (MEMORY_1 / "memory.limit_in_bytes").exists()
        name = f"hotset-bench-{os.getpid()}"
        self.memory = (MEMORY_1 if self.is_old else Path("/sys/fs/cgroup")) / name
        self.memory.mkdir()
        (self.memory / ("memory.limit_in_bytes" if self.is_old else "memory.max")).write_text(str(limit))
        self.folders = [self.memory]
        bytes_a_second = rate * 2**20
        if self.is_old and BLKIO_1.exists():
            self.folders.append(BLKIO_1 / name)
            self.folders[1].mkdir()
            (self.folders[1] / "blkio.throttle.read_bps_device").write_text(f"{device} {bytes_a_second}")
        elif not self.is_old and (self.memory / "io.max").exists():
            (self.memory / "io.max").write_text(f"{device} rbps={bytes_a_second}")
        else:
            print("no control group can slow the disk here: it is as fast as it is", file=sys.stderr)

    def enter(self):
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        for folder in self.folders:
            for _ in range(100):
                try:
                    folder.rmdir()
                    break
                except OSError:
                    time.sleep(0.1)


def workloads(memory):
    """By name: how a file is read, and for each reader its blocks."""
    fit = memory * 2**20 // BLOCK
    span = int(fit * 1.7)
    loop = [at % span for at in range(8 * span)]
    draw = random.Random(1)
    hot = int(fit * 0.42)
    scan = [draw.randrange(hot) if at % 2 else hot + at // 2 % (span - hot) for at in range(7 * span)]
    wide = int(fit * 2.5)
    weights = list(itertools.accumulate(1 / (rank + 1) ** 0.9 for rank in range(wide)))
    places = draw.sample(range(wide), wide)
    zipf = [places[rank] for rank in draw.choices(range(wide), cum_weights=weights, k=10 * fit)]
    shifted = [(at + span // 2) % span for at in loop]
    half = lambda blocks: blocks[: len(blocks) // 2]
    return {
        "loop, reading ahead": ("ahead", [loop]),
        "loop, random advice": ("random", [loop]),
        "loop, mapped": ("mmap", [loop]),
        "hot set beside a scan, random advice": ("random", [scan]),
        "hot set beside a scan, reading ahead": ("ahead", [scan]),
        "zipf 0.9, random advice": ("random", [zipf]),
        "two loops out of phase": ("random", [half(loop), half(shifted)]),
    }


def forget(path):
    """Nothing of the file stays in memory."""
    os.sync()
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run(args, path, plans, way, steered):
    """One run: readers' marks of the second half together, and the daemon's report."""
    forget(path)
    device = os.stat(path).st_dev
    # A partition is slowed by its disk; the numbers are those of the whole disk where there is one.
    group = Group(args.memory * 2**20, f"{os.major(device)}:{os.minor(device)}", args.rate)
    daemon = None
    report = Path(args.folder) / f"report-{os.getpid()}.json"
    try:
        if steered:
            command = [args.hotset, "steer", str(path.parent), "--cgroup", str(group.memory), "--policy", args.policy]
            command += ["--block", "64K", "--json", str(report)] + (["--always"] if args.always else [])
            daemon = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            if "watching" not in daemon.stderr.readline():
                sys.exit("steer: " + daemon.stderr.read())
        start = lambda plan: subprocess.Popen(
            [sys.executable, "-c", READER, str(path), plan, way], stdout=subprocess.PIPE, text=True, preexec_fn=group.enter
        )
        readers = [start(plan) for plan in plans]
        marks = [json.loads(reader.communicate()[0])[1] for reader in readers]
        seconds = max(mark[0] for mark in marks)
        disk = sum(mark[1] for mark in marks) / sum(mark[2] for mark in marks)
        if daemon:
            daemon.send_signal(signal.SIGTERM)
            daemon.communicate()
        return seconds, disk, json.loads(report.read_text()) if steered else None
    finally:
        if daemon and daemon.poll() is None:
            daemon.kill()
        report.unlink(missing_ok=True)
        group.remove()


def interval(differences):
    """Mean and half of its 95 % interval."""
    if len(differences) < 2:
        return differences[0], math.inf
    t = STUDENT[min(len(differences) - 1, len(STUDENT) - 1)]
    return statistics.mean(differences), t * statistics.stdev(differences) / math.sqrt(len(differences))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hotset", default="target/release/hotset")
    arguments.add_argument("--folder", default=".", help="where the file is made, on a disk")
    arguments.add_argument("--memory", type=int, default=152, help="MiB of the control group")
    arguments.add_argument("--rate", type=int, default=100, help="MiB/s of the disk")
    arguments.add_argument("--pairs", type=int, default=3)
    arguments.add_argument("--policy", default="lirs")
    arguments.add_argument("--always", action="store_true", help="steer even where it does not pay")
    arguments.add_argument("--only", default="", help="workloads whose names hold this")
    arguments.add_argument("--out", type=Path)
    args = arguments.parse_args()
    lines = [
        f"Linux {platform.release()}, {args.memory} MiB, disk of {args.rate} MiB/s, `{args.policy}`, {args.pairs} pairs"
        + (", steered always" if args.always else "")
        + "; the second half of each run\n",
        "| work | disk: kernel | steered | difference | seconds: kernel | steered | difference | steered for | daemon | pages off |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        path = Path(folder) / "data" / "file"
        path.parent.mkdir()
        with open(path, "wb") as file:
            for _ in range(int(args.memory * 2.5) + 1):
                file.write(os.urandom(2**20))
            os.fsync(file.fileno())
        for name, (way, readers) in workloads(args.memory).items():
            if args.only not in name:
                continue
            plans = []
            for number, blocks in enumerate(readers):
                plans.append(str(Path(folder) / f"plan-{number}"))
                Path(plans[-1]).write_text(json.dumps(blocks))
            pairs = []
            for pair in range(args.pairs):
                order = (False, True) if pair % 2 == 0 else (True, False)
                pairs.append({steered: run(args, path, plans, way, steered) for steered in order})
            lines.append(row(name, pairs))
            print(lines[-1], flush=True)
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")


def row(name, pairs):
    """A line of the table."""
    mean = lambda steered, at: statistics.mean(pair[steered][at] for pair in pairs)
    times, times_off = interval([pair[True][0] - pair[False][0] for pair in pairs])
    disks, disks_off = interval([100 * (pair[True][1] - pair[False][1]) for pair in pairs])
    reports = [pair[True][2] for pair in pairs]
    steered = statistics.mean(report["seconds_steered"] / report["seconds"] for report in reports)
    daemon = statistics.mean(report["cpu_seconds"] / report["seconds"] for report in reports)
    off = lambda key: statistics.mean(report["residency"][key] for report in reports)
    return (
        f"| {name} | {100 * mean(False, 1):.1f} % | {100 * mean(True, 1):.1f} % | {disks:+.1f} ± {disks_off:.1f} points "
        f"| {mean(False, 0):.1f} | {mean(True, 0):.1f} | {times:+.1f} ± {times_off:.1f} "
        f"| {100 * steered:.0f} % | {100 * daemon:.1f} % of a core | {off('missing'):.0f} missing, {off('extra'):.0f} more, of {off('held'):.0f} |"
    )


if __name__ == "__main__":
    main()
