#!/usr/bin/env python3
"""What writes cost a program, with and without --write-back, on a source made slow by a stated delay, all in one run.

`slow_mount` serves a directory in memory as if it lay on a disk that does one thing at a time: SEEK_US for each read or write that does not go on
where the last one ended, and bytes at MB_PER_S. Each row is one new mount and one job, its last close included; the median of RUNS:
  small     a file of 2 MiB, written 500 bytes at a time
  places    4,000 writes of 512 bytes at places drawn from a file of 1 MiB that stays open
  archive   200 files of 8 KiB unpacked by tar, then deleted
  build     C files compiled one by one, their objects linked to an archive and all of it deleted (needs gcc)

Needs root and /dev/fuse. Build first:
  cargo build --release -p hotset-mount --example slow_mount
  python3 benches/writes.py --mount target/release/examples/slow_mount --out benches/runs/writes.md
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

SMALL = """
import os, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for _ in range((2 << 20) // 500):
    os.write(descriptor, b"x" * 500)
os.close(descriptor)
"""

PLACES = """
import os, random, sys
draw = random.Random(1)
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for _ in range(4000):
    os.pwrite(descriptor, b"x" * 512, draw.randrange(2048) * 512)
os.close(descriptor)
"""

BUILD = """
cd "$1" && for file in "$2"/*.c; do gcc -O0 -c "$file" -o "$(basename "$file" .c).o" || exit 1; done
ar rcs all.a *.o && rm *.o all.a
"""


def jobs(folder):
    """Commands by name, given a path in the mount."""
    files = folder / "files"
    files.mkdir()
    for number in range(200):
        (files / f"f{number}").write_bytes(random.Random(number).randbytes(8192))
    with tarfile.open(folder / "files.tar", "w") as archive:
        archive.add(files, "files")
    sources = folder / "sources"
    sources.mkdir()
    for number in range(20):
        lines = "".join(f'int f{number}_{line}(int x) {{ printf("%d", x); return x * {line}; }}\n' for line in range(400))
        (sources / f"s{number}.c").write_text("#include <stdio.h>\n" + lines)
    return {
        "small": lambda at: [sys.executable, "-c", SMALL, at / "f"],
        "places": lambda at: [sys.executable, "-c", PLACES, at / "f"],
        "archive": lambda at: ["sh", "-c", 'cd "$1" && tar xf "$2" && rm -r files', "sh", at, folder / "files.tar"],
        "build": lambda at: ["sh", "-c", BUILD, "sh", at, sources],
    }


def measured(args, command, write_back):
    """Seconds of the job, and what its mount has told at the end."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        source, at = Path(folder) / "source", Path(folder) / "at"
        source.mkdir()
        at.mkdir()
        words = [args.mount, source, at, args.memory, args.policy, "strict", args.seek_us, args.mb_per_s, *write_back]
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
        while not os.path.ismount(at):
            time.sleep(0.01)
        started = time.monotonic()
        subprocess.run([str(word) for word in command(at)], check=True)
        seconds = time.monotonic() - started
        while subprocess.run(["umount", str(at)], capture_output=True).returncode:
            time.sleep(0.05)
        return seconds, json.loads(process.communicate()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mount", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--memory", type=int, default=64 << 20)
    parser.add_argument("--policy", default="lru")
    parser.add_argument("--seek-us", type=int, default=2000)
    parser.add_argument("--mb-per-s", type=float, default=100)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    lines = [
        f"{args.seek_us / 1000:g} ms a seek, {args.mb_per_s:g} MB/s, {args.memory >> 20} MiB, {args.policy}, strict; median of {args.runs} runs (least–most). "
        f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f} at the start.",
        "",
        "| job | writes | seconds | writes of the source | bytes written |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, command in jobs(Path(folder)).items():
            for title, write_back in [("through", []), ("wait 5 s", [5])]:
                runs = [measured(args, command, write_back) for _ in range(args.runs)]
                seconds = sorted(run[0] for run in runs)
                told = runs[0][1]
                line = f"| {name} | {title} | {statistics.median(seconds):.2f} s ({seconds[0]:.2f}–{seconds[-1]:.2f}) | {told['writes']:,} | {told['bytes_written']:,} |"
                print(line, flush=True)
                lines.append(line)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("\n".join(lines) + "\n")


main()
