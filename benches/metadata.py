#!/usr/bin/env python3
"""What repeated looks at small files cost over a store that is far away, by how old names and attributes may be.

`slow_source` serves 200 files of 4 KiB in 8 directories, each call takes MS milliseconds. Each row is one mount (or the slow source itself), new,
and one job done PASSES times: the first pass, and the median of the others with the calls that one of them makes to the source:
  grep        `grep -r` over all files
  stat        `find -size +1G`, which looks at the attributes of all files
  missing     looks for 200 names that do not exist, as a compiler does along its list of folders
The last column is the median beside the same job on the slow source itself.

Needs root and /dev/fuse. Build first:
  cargo build --release --bin hotset --example slow_source
  python3 benches/metadata.py --bin target/release --out benches/runs/metadata.md
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from served import Served

FILES = 200


def jobs(at):
    """Commands by name, for the files at a path."""
    missing = [str(at / f"d{number % 8}" / f"none{number}") for number in range(FILES)]
    look = "import os, sys\nfor path in sys.argv[1:]:\n    assert not os.path.exists(path)"
    return {
        "grep": ["grep", "-rc", "zzz", str(at)],
        "stat": ["find", str(at), "-size", "+1G"],
        "missing": [sys.executable, "-c", look, *missing],
    }


def calls(source):
    """Calls that the source has served."""
    return {name: int(count) for name, count in (line.split() for line in (source / "calls").read_text().splitlines())}


def timed(command):
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(done.stderr)
    return time.monotonic() - started


def passes(args, job, at, source):
    """Seconds of each pass, and the calls of the last one."""
    seconds = []
    for _ in range(args.passes):
        before = calls(source)
        seconds.append(timed(jobs(at)[job]))
        # Files are closed in the background.
        time.sleep(0.1)
        after = calls(source)
    made = {name: count - before.get(name, 0) for name, count in after.items() if count > before.get(name, 0)}
    return seconds, made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--ms", type=float, default=2)
    parser.add_argument("--passes", type=int, default=6)
    parser.add_argument("--staleness", default="open,revalidate,1s,10s,forever")
    parser.add_argument("--jobs", default="grep,stat,missing")
    args = parser.parse_args()
    lines = [
        f"{FILES} files of 4 KiB in 8 directories, {args.ms:g} ms a call, {args.passes} passes; strict mode, 16 MiB, lru, unless said otherwise. "
        f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f} at the start.",
        "",
        "| job | staleness | first pass | median of the others (least–most) | calls of the last pass | beside the source itself |",
        "|---|---|---|---|---|---|",
    ]
    cells = [[word] for word in args.staleness.split(",")]
    cells += [["10s", "--mode", "fast"], ["10s", "--policy", "attribute(64K/128 id, x/4K temporal, 1M/64K sequential)"]]
    for job in args.jobs.split(","):
        with tempfile.TemporaryDirectory() as folder:
            source = Served([args.bin / "examples/slow_source", Path(folder) / "source", FILES, 4096, args.ms], Path(folder) / "source")
            rows = [("the source itself", passes(args, job, source.at, source.at))]
            for cell in cells:
                at = Path(folder) / "at"
                policy = [] if "--policy" in cell else ["--policy", "lru"]
                # The only way of an older command, which does not know the option.
                staleness = [] if cell[0] == "open" else ["--staleness", cell[0]]
                command = [args.bin / "hotset", "mount", source.at, at, "--memory", "16M", *policy, *staleness, *cell[1:]]
                mount = Served(command, at)
                rows.append((" ".join(cell), passes(args, job, at, source.at)))
                mount.end()
            source.end()
        direct = statistics.median(rows[0][1][0][1:])
        for name, (seconds, made) in rows:
            later = sorted(seconds[1:])
            told = ", ".join(f"{count} {call}" for call, count in sorted(made.items(), key=lambda one: -one[1])) or "none"
            median = statistics.median(later)
            line = f"| {job} | {name} | {seconds[0]:.2f} s | {median:.3f} s ({later[0]:.3f}–{later[-1]:.3f}) | {told} | {100 * median / direct:.1f} % |"
            print(line, flush=True)
            lines.append(line)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text("\n".join(lines) + "\n")


main()
