#!/usr/bin/env python3
"""A mount whose policy knows what its storage takes beside one that does not: random reads of a database in turn with a scan of a larger file.

The source is `slow_mount` without a cache (SEEK_US for each read that does not go on where the last one ended, bytes at MB_PER_S), its files in memory.
Each cell is a fresh mount; the workload's first third warms it up and is not counted. Cells are run in turn, ROUNDS times. Needs /dev/fuse. Build first:
  cargo build --release
  cargo build --release -p hotset-mount --example slow_mount
  python3 benches/seconds.py --mount target/release/examples/slow_mount --hotset target/release/hotset
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

MIB = 1 << 20
DATABASE, SCANNED = 96 * MIB, 192 * MIB
PAGE, CHUNK = 4 << 10, 128 << 10
STEPS, LOOKUPS, CHUNKS = 900, 24, 8


def wait_for(at):
    device = at.parent.stat().st_dev
    while at.stat().st_dev == device:
        time.sleep(0.02)


def places(draw):
    """Pages of the database by Zipf's law (skew 0.8), scattered over the file."""
    pages = DATABASE // PAGE
    order = list(range(pages))
    random.Random(1).shuffle(order)
    weights = [1 / (rank + 1) ** 0.8 for rank in range(pages)]
    return [order[rank] * PAGE for rank in draw.choices(range(pages), weights, k=STEPS * LOOKUPS)]


def status(args, at):
    return json.loads(subprocess.run([args.hotset, "ctl", str(at), "status"], capture_output=True, check=True).stdout)


def work(args, at):
    """Seconds that lookups and the scan waited after the warm-up, and the misses."""
    lookups = iter(places(random.Random(7)))
    database, scanned = (os.open(at / name, os.O_RDONLY) for name in ("database", "scanned"))
    waited, behind = [0.0, 0.0], 0
    for step in range(STEPS):
        if step == STEPS // 3:
            waited, before = [0.0, 0.0], status(args, at)
        started = time.perf_counter()
        for _ in range(LOOKUPS):
            os.pread(database, PAGE, next(lookups))
        between = time.perf_counter()
        for _ in range(CHUNKS):
            os.pread(scanned, CHUNK, behind)
            behind = (behind + CHUNK) % SCANNED
        waited = [waited[0] + between - started, waited[1] + time.perf_counter() - between]
    after = status(args, at)
    os.close(database)
    os.close(scanned)
    return [*waited, *(after[key] - before[key] for key in ("references", "hits"))]


def cell(args, below, at, options):
    memory = ["--memory", f"{args.memory}M"]
    server = subprocess.Popen([args.hotset, "mount", str(below), str(at), *memory, *options], stderr=subprocess.DEVNULL)
    wait_for(at)
    try:
        return work(args, at)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mount", required=True)
    parser.add_argument("--hotset", required=True)
    parser.add_argument("--memory", type=int, default=64, help="MiB")
    parser.add_argument("--seek-us", type=int, default=2000)
    parser.add_argument("--mb-per-s", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    store = f"{args.seek_us}us,{args.mb_per_s}M,1"
    cells = {name: ["--policy", name] for name in ("lru", "arc", "lirs", "auto")}
    cells[f"auto --store {store}"] = ["--policy", "auto", "--store", store]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as source, tempfile.TemporaryDirectory() as folder:
        for name, size in (("database", DATABASE), ("scanned", SCANNED)):
            (Path(source) / name).write_bytes(random.Random(name).randbytes(size))
        below, at = Path(folder) / "below", Path(folder) / "at"
        below.mkdir()
        at.mkdir()
        slow = [args.mount, source, str(below), "0", "lru", "strict", str(args.seek_us), str(args.mb_per_s)]
        server = subprocess.Popen(slow, stdout=subprocess.DEVNULL)
        wait_for(below)
        try:
            rows = {name: [] for name in cells}
            for _ in range(args.rounds):
                for name, options in cells.items():
                    rows[name].append(cell(args, below, at, options))
        finally:
            subprocess.run(["umount", "-l", str(at)], stderr=subprocess.DEVNULL)
            subprocess.run(["umount", "-l", str(below)], stderr=subprocess.DEVNULL)
            server.wait()
    print("| policy | seconds waited | by lookups | by the scan | hit ratio |")
    print("|---|---:|---:|---:|---:|")
    for name, rounds in rows.items():
        both = sorted(lookups + scan for lookups, scan, _, _ in rounds)
        lookups, scan = (statistics.median(round[place] for round in rounds) for place in (0, 1))
        hits = statistics.median(100 * hits / references for _, _, references, hits in rounds)
        print(f"| `{name}` | {statistics.median(both):.1f} ({both[0]:.1f} to {both[-1]:.1f}) | {lookups:.1f} | {scan:.1f} | {hits:.1f} |")


if __name__ == "__main__":
    main()
