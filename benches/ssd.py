#!/usr/bin/env python3
"""A mount with and without a second level on a disk, on a source made slow by a stated delay, over a set of four times the memory.

The source is `slow_mount` without a cache (SEEK_US for each read that does not go on where the last one ended, bytes at MB_PER_S), its files in memory.
The kernel's page cache is emptied before each row, so that what comes from the disk comes from the disk. Needs root and /dev/fuse. Build first:
  cargo build --release
  cargo build --release -p hotset-mount --example slow_mount
  python3 benches/ssd.py --mount target/release/examples/slow_mount --hotset target/release/hotset --folder /on/the/disk
"""

import argparse
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

MEMORY = 32 << 20
FILES, FILE = 32, 4 << 20
BLOCK = 64 << 10
RANDOM_READS = 512


def wait_for(at):
    device = at.parent.stat().st_dev
    while at.stat().st_dev == device:
        time.sleep(0.02)


def in_order(at):
    for number in range(FILES):
        with open(at / str(number), "rb", buffering=0) as file:
            while file.read(2 * BLOCK):
                pass


def at_random(at):
    files = [os.open(at / str(number), os.O_RDONLY) for number in range(FILES)]
    draw = random.Random(7)
    for _ in range(RANDOM_READS):
        os.pread(files[draw.randrange(FILES)], BLOCK, draw.randrange(FILE // BLOCK) * BLOCK)
    for file in files:
        os.close(file)


def mounted(args, below, at, more):
    size = ["--memory", f"{MEMORY}B", "--policy", "lru", "--block", f"{BLOCK}B"]
    server = subprocess.Popen([args.hotset, "mount", str(below), str(at), *size, *more], stderr=subprocess.DEVNULL)
    wait_for(at)
    return server


def end(server, at, how):
    server.send_signal(how)
    server.wait()
    if how == signal.SIGKILL:
        subprocess.run(["umount", "-l", str(at)], check=True)


def status(args, at):
    return json.loads(subprocess.run([args.hotset, "ctl", str(at), "status"], capture_output=True, check=True).stdout)


def row(args, at, what, job, cell):
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("1")
    before, started = status(args, at), time.time()
    job(at)
    seconds = time.time() - started
    after = status(args, at)
    tier = [after.get("tier", {}).get(key, 0) - before.get("tier", {}).get(key, 0) for key in ("bytes_read", "bytes_written", "skipped")]
    moved = [after["bytes_read"] - before["bytes_read"], *tier[:2]]
    figures = " | ".join(f"{bytes / 2**20:.0f}" for bytes in moved)
    print(f"| {what} | {cell} | {seconds:.2f} | {figures} | {tier[2]} |", flush=True)


def measure(args, below, at, cell, more):
    server = mounted(args, below, at, more)
    for what, job in [("first read, in order", in_order), ("again", in_order), ("again", in_order), ("at random", at_random)]:
        row(args, at, what, job, cell)
    end(server, at, signal.SIGTERM)
    for what, how in [("after a restart, in order", signal.SIGKILL), ("after kill -9, in order", signal.SIGTERM)]:
        server = mounted(args, below, at, more)
        row(args, at, what, in_order, cell)
        end(server, at, how)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mount", required=True)
    parser.add_argument("--hotset", required=True)
    parser.add_argument("--folder", required=True, help="where the second level lies")
    parser.add_argument("--seek-us", type=int, default=20_000)
    parser.add_argument("--mb-per-s", type=int, default=500)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as source, tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for number in range(FILES):
            (Path(source) / str(number)).write_bytes(random.Random(number).randbytes(FILE))
        # Times tell versions apart once they are two seconds old.
        time.sleep(2.2)
        below, at = Path(folder) / "below", Path(folder) / "at"
        below.mkdir()
        at.mkdir()
        slow = [args.mount, source, str(below), "0", "lru", "strict", str(args.seek_us), str(args.mb_per_s)]
        server = subprocess.Popen(slow, stdout=subprocess.DEVNULL)
        wait_for(below)
        try:
            print("| read | levels | seconds | MiB from the source | MiB from the disk | MiB to the disk | blocks that did not enter |")
            print("|---|---|---|---|---|---|---|")
            measure(args, below, at, "memory", [])
            measure(args, below, at, "memory and disk", ["--ssd", str(Path(folder) / "ssd"), "--ssd-size", "256M"])
        finally:
            subprocess.run(["umount", "-l", str(at)], stderr=subprocess.DEVNULL)
            subprocess.run(["umount", "-l", str(below)], stderr=subprocess.DEVNULL)
            server.wait()


if __name__ == "__main__":
    main()
