#!/usr/bin/env python3
"""The live cache beside the kernel's page cache, on a source made slow by a stated delay, all in one run.

Each row is one working set, read the same way by one process:
  bare         the slow source through a mount without any cache (memory 0, strict): what every read costs
  kernel       the same mount with the kernel's page cache in front, the reader in a control group limited to the memory
  hotset P     the live cache with policy P and the memory, strict
The slow source is a disk that does one thing at a time: SEEK_US for each read that does not go on where the last one ended, and bytes at MB_PER_S.

Needs root, /dev/fuse and the memory controller of control groups (version 1 or 2). Build first:
  cargo build --release -p hotset-live --example slow_mount
  python3 benches/mount.py --mount target/release/examples/slow_mount --out benches/runs/mount.md
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK = 64 * 1024


def sets(memory):
    """Offsets of reads of BLOCK bytes, by name; all draw from a file of at most 4 times the memory."""
    blocks = memory // BLOCK
    draw = random.Random(1)
    for share in (1.5, 2, 4):
        span = int(blocks * share)
        yield f"loop over {share} x memory, 6 laps", [at % span for at in range(6 * span)]
    span = 4 * blocks
    weights = [1 / (rank + 1) for rank in range(span)]
    order = draw.sample(range(span), span)
    yield "zipf(1.0) over 4 x memory", draw.choices(order, weights, k=6 * blocks * 2)
    hot = blocks // 2
    mixed = []
    for step in range(8 * blocks):
        mixed.append(draw.randrange(hot) if step % 2 else hot + step // 2 % (span - hot))
    yield "scan beside a hot set of half the memory", mixed


READER = """
import os, sys, time, json
offsets = json.load(open(sys.argv[2]))
descriptor = os.open(sys.argv[1], os.O_RDONLY)
started = time.monotonic()
for offset in offsets:
    if len(os.pread(descriptor, %d, offset * %d)) != %d:
        sys.exit("a read was short")
print(time.monotonic() - started)
""" % (BLOCK, BLOCK, BLOCK)


class Group:
    """A control group with limited memory."""

    def __init__(self, limit):
        first = Path("/sys/fs/cgroup/memory")
        self.path = (first if first.exists() else Path("/sys/fs/cgroup")) / f"hotset-bench-{os.getpid()}"
        self.path.mkdir()
        name = "memory.limit_in_bytes" if first.exists() else "memory.max"
        (self.path / name).write_text(str(limit))

    def enter(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        self.path.rmdir()


def run(args, source, offsets, memory, policy, mode, limit):
    """Seconds of the reader, and what the mount says at its end."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "at"
        at.mkdir()
        plan = Path(folder) / "offsets"
        plan.write_text(json.dumps(offsets))
        command = [args.mount, source, str(at), str(memory), policy, mode, str(args.seek_us), str(args.mb_per_s)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        while not (at / "data").exists():
            if server.poll() is not None:
                sys.exit("the mount has ended")
            time.sleep(0.01)
        group = Group(limit) if limit else None
        reader = [sys.executable, "-c", READER, str(at / "data"), str(plan)]
        done = subprocess.run(reader, capture_output=True, text=True, preexec_fn=group.enter if group else None)
        subprocess.run(["umount", str(at)], check=True)
        said = json.loads(server.communicate()[0])
        if group:
            group.close()
        if done.returncode:
            sys.exit(done.stderr)
        return float(done.stdout), said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mount", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--memory", type=int, default=16 << 20)
    parser.add_argument("--seek-us", type=int, default=2000)
    parser.add_argument("--mb-per-s", type=float, default=100)
    parser.add_argument("--policies", default="lru,mru,arc,lirs,s3-fifo")
    args = parser.parse_args()
    # An interpreter needs some memory of its own beside what the kernel caches for it.
    spare = 12 << 20
    lines = [
        f"Memory {args.memory >> 20} MiB, reads of {BLOCK >> 10} KiB, a seek {args.seek_us / 1000:g} ms, {args.mb_per_s:g} MB/s; "
        f"`kernel` has {spare >> 20} MiB more for the reader itself. Load average at the start: {os.getloadavg()[0]:.1f}.",
        "",
        "| working set | cache | seconds | hit rate | MB read from the source |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as source:
        with open(Path(source) / "data", "wb") as file:
            for _ in range(4 * args.memory >> 20):
                file.write(os.urandom(1 << 20))
        for name, offsets in sets(args.memory):
            asked = len(offsets) * BLOCK
            cells = [("bare", 0, "lru", "strict", 0), ("kernel", 0, "lru", "fast", args.memory + spare)]
            cells += [(f"hotset {policy}", args.memory, policy, "strict", 0) for policy in args.policies.split(",")]
            for cache, memory, policy, mode, limit in cells:
                seconds, said = run(args, source, offsets, memory, policy, mode, limit)
                share = 1 - said["bytes_read"] / asked
                if said["references"]:
                    share = said["hits"] / said["references"]
                lines.append(f"| {name} | {cache} | {seconds:.2f} | {100 * share:.1f} % | {said['bytes_read'] / 1e6:.1f} |")
                print(lines[-1], flush=True)
    Path(args.out).parent.mkdir(parents=True, exist_ok=True)
    Path(args.out).write_text("\n".join(lines) + "\n")


main()
