#!/usr/bin/env python3
"""Shuffled epochs over files of a source that is far away: what an announced order saves.

`slow_source` serves FILES files of 64 KiB, each call takes MS milliseconds. READERS threads read all files once an epoch, in
an order that is shuffled anew for each epoch, as a training sampler does. Rows: the source itself, mounts under fixed policies,
and the same mount with the order announced by `hotset ctl MOUNT expect`: of each epoch alone, with the next epoch, or of all
epochs at once. Figures are those of all epochs but the first; the median of RUNS runs with least and most.

Needs root and /dev/fuse. Build first:
  cargo build --release --bin hotset --example slow_source
  python3 benches/epochs.py --bin target/release --out benches/runs/epochs.md
"""

import argparse
import concurrent.futures
import json
import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from served import Served

BYTES = 64 << 10


def name(file):
    return f"d{file % 8}/f{file}"


def epoch(at, order, pool):
    """Seconds to read all files in this order."""

    def read(file):
        with open(at / name(file), "rb") as opened:
            assert len(opened.read()) == BYTES

    started = time.monotonic()
    list(pool.map(read, order))
    return time.monotonic() - started


def run(args, source, row, seed):
    """Seconds of all epochs but the first, and the hit ratio if there is a mount."""
    shuffled = random.Random(seed)
    orders = [shuffled.sample(range(args.files), args.files) for _ in range(args.epochs)]
    ahead, policy = row
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.readers) as pool:
        if policy is None:
            return sum([epoch(source, order, pool) for order in orders][1:]), None
        memory = f"{int(args.files * BYTES * args.share) >> 10}K"
        command = [args.bin / "hotset", "mount", source, Path(folder) / "at", "--memory", memory, "--policy", policy, *args.mount]
        mount = Served(command, Path(folder) / "at")
        ctl = [str(args.bin / "hotset"), "ctl", str(mount.at)]
        status = lambda: json.loads(subprocess.run([*ctl, "status"], capture_output=True, text=True, check=True).stdout)
        seconds = 0
        for number, order in enumerate(orders):
            if ahead and (number == 0 or ahead < args.epochs):
                announced = [name(file) for order in orders[number : number + ahead] for file in order]
                (Path(folder) / "order").write_text("\n".join(announced))
                subprocess.run([*ctl, "expect", f"@{folder}/order"], check=True, capture_output=True)
            if number == 1:
                before = status()
            took = epoch(mount.at, order, pool)
            seconds += took if number > 0 else 0
        after = status()
        mount.end()
        references = after["references"] - before["references"]
        return seconds, (after["hits"] - before["hits"]) / references if references else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--ms", type=float, default=2)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--readers", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--mount", type=str.split, default=[], help="further options of the mounts")
    args = parser.parse_args()
    rows = {
        "the source itself": (0, None),
        "lru": (0, "lru"),
        "auto": (0, "auto"),
        "lru, each epoch announced": (1, "lru"),
        "lru, with the next epoch": (2, "lru"),
        "lru, all epochs announced": (args.epochs, "lru"),
        "auto, with the next epoch": (2, "auto"),
    }
    lines = [
        f"{args.files} files of 64 KiB, {args.ms:g} ms a call, memory {args.share:g} of them, {args.readers} readers, {args.epochs} epochs, "
        f"{args.runs} runs, mount options: {' '.join(args.mount) or 'none'}. {os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f} at the start.",
        "",
        "| mount | seconds an epoch (least–most) | hit ratio |",
        "|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        source = Served([args.bin / "examples/slow_source", Path(folder) / "source", args.files, BYTES, args.ms], Path(folder) / "source")
        found = {label: [] for label in rows}
        try:
            for seed in range(args.runs):
                for label, row in rows.items():
                    found[label].append(run(args, source.at, row, seed))
        finally:
            source.end()
    for label, runs in found.items():
        seconds = sorted(seconds / (args.epochs - 1) for seconds, _ in runs)
        ratios = [ratio for _, ratio in runs if ratio is not None]
        ratio = f"{100 * statistics.median(ratios):.1f} %" if ratios else "–"
        line = f"| {label} | {statistics.median(seconds):.2f} ({seconds[0]:.2f}–{seconds[-1]:.2f}) | {ratio} |"
        print(line, flush=True)
        lines.append(line)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("\n".join(lines) + "\n")


main()
