#!/usr/bin/env python3
"""What `hotset mount` chooses by itself, beside the source without hotset and beside explicit settings.

Each row is one source (latency of a call, calls at a time, bandwidth), one set of files and one way of reading it. `tree` has a directory of small
files, the others have one of large files:
  loop   all files in order, 128 KiB a read
  scan   single pages of a hot set of half the memory, and between them the other files in order
  zipf   single pages at random, page k with weight 1/k
  tree   small files of 8 KiB in the same random order in each pass
The first pass fills the cache. The figure is the median of the passes after it, in seconds. `source` is the same work without hotset: the slow source
with the kernel's page cache, in a control group limited to the memory. `default` is `hotset mount SOURCE AT --memory M`. The others add --policy and
--block (`--settings`). The mode is strict, so the kernel's page cache holds none of the data of a hotset mount.

Needs root, /dev/fuse and the memory controller of control groups. Build first:
  cargo build --release
  cargo build --release -p hotset-mount --example slow_mount
  python3 benches/defaults.py --mount target/release/examples/slow_mount --hotset target/release/hotset --out benches/runs/defaults.md
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from group import Group

PAGE, READ, FILE, SMALL = 4 << 10, 128 << 10, 1 << 20, 8 << 10

READER = """
import os, sys, time, json
plan = json.load(open(sys.argv[2]))
for laps in plan:
    started = time.monotonic()
    name, descriptor = None, None
    opened = {}
    for file, offset, length in laps:
        if file not in opened:
            if len(opened) > 500:
                for old in opened.values():
                    os.close(old)
                opened.clear()
            opened[file] = os.open(f"{sys.argv[1]}/{file}", os.O_RDONLY)
        if len(os.pread(opened[file], length, offset)) != length:
            sys.exit("a read was short")
    for old in opened.values():
        os.close(old)
    print(time.monotonic() - started)
"""


def in_order(files, size):
    return [(str(number), offset, min(READ, size)) for number in files for offset in range(0, size, READ)]


def plans(memory, share, passes, reads):
    """The reads of each pass, by name of the pattern: (file, offset, length)."""
    draw = random.Random(1)
    files = max(1, int(memory * share) // FILE)
    yield "loop", [in_order(range(files), FILE)] * passes

    hot = max(1, memory // 2 // FILE)
    pages = hot * (FILE // PAGE)
    if files > hot:
        scan = in_order(range(hot, files), FILE)
        mixed = []
        for _ in range(passes):
            lap = []
            for read in scan:
                lap.append(read)
                for _ in range(4):
                    page = draw.randrange(pages)
                    lap.append((str(page * PAGE // FILE), page * PAGE % FILE, PAGE))
            mixed.append(lap)
        yield "scan", mixed

    pages = files * (FILE // PAGE)
    weights = [1 / (rank + 1) for rank in range(pages)]
    order = draw.sample(range(pages), pages)
    yield (
        "zipf",
        [
            [(str(page * PAGE // FILE), page * PAGE % FILE, PAGE) for page in draw.choices(order, weights, k=reads)]
            for _ in range(passes)
        ],
    )
    small = draw.sample(range(files * (FILE // SMALL)), min(reads, files * (FILE // SMALL)))
    yield "tree", [[(f"{number % 50}/{number}", 0, SMALL) for number in small]] * passes


def fill(source, files):
    """Files of both kinds below a directory."""
    draw = random.Random(3)
    (source / "large").mkdir(parents=True)
    for number in range(files):
        (source / "large" / str(number)).write_bytes(draw.randbytes(FILE))
    for number in range(files * (FILE // SMALL)):
        folder = source / "small" / str(number % 50)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).write_bytes(draw.randbytes(SMALL))
    # Times of change tell versions apart once they are two seconds old.
    time.sleep(2.2)


class Mount:
    """A mount that a command makes."""

    def __init__(self, at, command):
        self.at = Path(at)
        self.server = subprocess.Popen([*command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = self.at.parent.stat().st_dev
        for _ in range(1000):
            if self.server.poll() is not None:
                sys.exit(f"this ended: {command}")
            if self.at.stat().st_dev != before:
                return
            time.sleep(0.01)
        sys.exit(f"this did not mount: {command}")

    def end(self):
        subprocess.run(["umount", str(self.at)], check=True)
        self.server.wait(30)


def passes_of(at, plan, folder, group=None):
    """Seconds of the first pass, and the median of the others."""
    file = Path(folder) / "plan"
    file.write_text(json.dumps(plan))
    done = subprocess.run(
        [sys.executable, "-c", READER, str(at), str(file)],
        capture_output=True,
        text=True,
        preexec_fn=group.enter if group else None,
    )
    if done.returncode:
        sys.exit(done.stderr)
    first, *later = map(float, done.stdout.split())
    return first, statistics.median(later)


def measure(args, source, folder, plan, memory, latency, setting):
    """Seconds of one cell."""
    below, at = Path(folder) / "below", Path(folder) / "at"
    mode = "fast" if setting is None else "strict"
    slow = Mount(below, [args.mount, str(source), str(below), "0", "lru", mode, latency, str(args.mb_per_s)])
    try:
        if setting is None:
            group = Group(memory + args.program)
            try:
                return passes_of(below, plan, folder, group)
            finally:
                group.close()
        front = Mount(at, [args.hotset, "mount", str(below), str(at), "--memory", f"{memory}B", *setting])
        try:
            return passes_of(at, plan, folder)
        finally:
            front.end()
    finally:
        slow.end()


def settings(args):
    yield "source", None
    yield "default", []
    for setting in args.settings.split():
        policy, block = setting.rsplit(",", 1)
        size = [] if block == "default" else ["--block", block]
        yield f"{policy}, {block}", ["--policy", policy, *size]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mount", required=True, help="the example slow_mount")
    parser.add_argument("--hotset", required=True)
    parser.add_argument("--out", help="where the table is written; by default only printed")
    parser.add_argument("--memory", type=int, default=16 << 20)
    parser.add_argument("--program", type=int, default=12 << 20, help="memory of the reading program itself, which is added to the limit of its group")
    parser.add_argument("--latencies", default="200/8,2000/8,20000/8", help="microseconds of a call / calls at a time, separated by commas")
    parser.add_argument("--mb-per-s", type=int, default=500)
    parser.add_argument("--shares", default="0.5,1.5,4", help="size of the set, in multiples of the memory")
    parser.add_argument("--patterns", default="loop,scan,zipf,tree")
    parser.add_argument("--settings", default="lirs,16K clock-pro,16K clock-pro,128K", help="a policy and a size of blocks each, or `default` for the size")
    parser.add_argument("--passes", type=int, default=4)
    parser.add_argument("--reads", type=int, default=1500, help="reads of `zipf` and files of `tree`")
    args = parser.parse_args()

    cells = list(settings(args))
    lines = [
        "| latency | set | reads | " + " | ".join(name for name, _ in cells) + " | default / source | default / best |",
        "|---" * (len(cells) + 5) + "|",
    ]
    print("\n".join(lines), flush=True)
    shares = [float(share) for share in args.shares.split(",")]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as sources, tempfile.TemporaryDirectory() as folder:
        # The source has the files of the set, and no others: a mount looks at what is there.
        for share in shares:
            fill(Path(sources) / str(share), int(args.memory * share) // FILE)
        for name in ["below", "at"]:
            (Path(folder) / name).mkdir()
        for latency in args.latencies.split(","):
            for share in shares:
                source = Path(sources) / str(share)
                for pattern, plan in plans(args.memory, share, args.passes, args.reads):
                    if pattern not in args.patterns.split(","):
                        continue
                    times = [measure(args, source / ("small" if pattern == "tree" else "large"), folder, plan, args.memory, latency, setting)[1] for _, setting in cells]
                    bare, default, *explicit = times
                    figures = " | ".join(f"{seconds:.2f}" for seconds in times)
                    row = f"| {latency} us | {share} | {pattern} | {figures} | {default / bare:.2f} | {default / min(explicit):.2f} |"
                    print(row, flush=True)
                    lines.append(row)
    if args.out:
        Path(args.out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
