#!/usr/bin/env python3
"""The live cache beside the kernel's page cache, on a source made slow by a stated delay, all in one run.

Each row is one working set, read the same way by one process, and one cache; a mount is new for each, so nothing is cached at its beginning:
  bare         the slow source through a mount without any cache (memory 0, strict): what every read costs
  kernel       the same mount with the kernel's page cache in front, the reader in a control group limited to the memory
  MODE P       the live cache with policy P and the memory; in fast mode the reader is limited as for `kernel`, so that both caches have the memory
  MODE P, command  the same by `hotset mount` with blocks of 64 KiB, on top of the bare mount: only there is a mode steered, in which the reader is not
               limited, but the kernel keeps what the policy holds of the memory; what of the file is resident at the end is reported. `strict` beside it
               has the same policy, blocks and memory, so that what they hit differs by what the two modes make of the same reads, and by nothing else
The slow source is a disk that does one thing at a time: SEEK_US for each read that does not go on where the last one ended, and bytes at MB_PER_S.
The kernel's page cache stands on the very same slow source, since the delay is inside of the mount. A compiler needs more memory than the
cache, so in the build no process is limited. The last table has no delay: what the way through a mount costs where the kernel's cache has it all,
beside the source's own directory.

Needs root, /dev/fuse, BPF (for mode steered) and the memory controller of control groups (version 1 or 2), and for the build gcc and the archive of
zstd-sys, which cargo has fetched. Build first:
  cargo build --release
  cargo build --release -p hotset-mount --example slow_mount
  python3 benches/mount.py --mount target/release/examples/slow_mount --hotset target/release/hotset --out benches/runs/mount.md
`--only reads` leaves the builds out.
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

from group import Group

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
block = int(sys.argv[3])
descriptor = os.open(sys.argv[1], os.O_RDONLY)
started = time.monotonic()
for offset in offsets:
    if len(os.pread(descriptor, block, offset * block)) != block:
        sys.exit("a read was short")
print(time.monotonic() - started)
"""

# Every file of the tree is compiled; the results are thrown away.
BUILD = """
cd "$1"
for file in zstd/lib/common/*.c zstd/lib/compress/*.c zstd/lib/decompress/*.c zstd/lib/dictBuilder/*.c; do
    gcc -O0 -Izstd/lib -Izstd/lib/common -c "$file" -o /dev/null || exit 1
done
"""


def read(offsets, folder, block=BLOCK):
    """A command that reads the file `data` of a directory at these offsets, in blocks, and prints the seconds it took."""
    plan = Path(folder) / f"offsets-{block}"
    plan.write_text(json.dumps(offsets))
    return lambda at: [sys.executable, "-c", READER, str(Path(at) / "data"), str(plan), str(block)]


def build(at):
    """A command that compiles the tree in a directory."""
    return ["sh", "-c", BUILD, "build", str(at)]


def timed(command, group=None):
    """Seconds that a command says it took, or that it takes."""
    started = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=group.enter if group else None)
    if done.returncode:
        sys.exit(done.stderr)
    return float(done.stdout or time.monotonic() - started)


class Commanded:
    """A mount by the command, of a source made slow if there is a delay."""

    def __init__(self, args, source, cell, delay):
        self.args = args
        self.below = Served(args, source, BARE, delay) if delay[0] else None
        self.folder = tempfile.TemporaryDirectory()
        self.at = Path(self.folder.name)
        _, memory, policy, mode, _ = cell
        below = str(self.below.at) if self.below else source
        command = [args.hotset, "mount", below, str(self.at), "--memory", f"{memory}B", "--policy", policy, "--block", "64K"]
        self.server = subprocess.Popen([*command, "--mode", mode.removesuffix(" by command")], stderr=subprocess.DEVNULL)
        mounted(self)

    def end(self):
        """Unmounts it; gives what it counted."""
        # The figures are a second old at most.
        time.sleep(1.2)
        status = json.loads(subprocess.run([self.args.hotset, "ctl", str(self.at), "status"], capture_output=True, check=True).stdout)
        total = status.get("total", status)
        said = {"references": total["references"], "hits": total.get("hits", total["references"] - total.get("misses", 0))}
        said["resident"] = status.get("pages_resident", 0) * 4096
        subprocess.run(["umount", str(self.at)], check=True)
        self.server.wait()
        self.folder.cleanup()
        said["bytes_read"] = self.below.end()["bytes_read"] if self.below else status.get("pages_read", 0) * 4096
        return said


def mounted(served):
    """Waits until it is."""
    while not os.path.ismount(served.at):
        if served.server.poll() is not None:
            sys.exit("the mount has ended")
        time.sleep(0.01)


BARE = ("bare", 0, "lru", "strict", 0)


class Served:
    """A mount of a source made slow."""

    def __init__(self, args, source, cell, delay):
        self.folder = tempfile.TemporaryDirectory()
        self.at = Path(self.folder.name) / "at"
        self.at.mkdir()
        _, memory, policy, mode, _ = cell
        seek, rate = delay
        command = [args.mount, source, str(self.at), str(memory), policy, mode, str(seek), str(rate)]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        mounted(self)

    def end(self):
        """Unmounts it; gives what it counted."""
        subprocess.run(["umount", str(self.at)], check=True)
        said = json.loads(self.server.communicate()[0])
        self.folder.cleanup()
        return said


def run(args, source, job, cell, delay, warm=False):
    """Seconds of the job, and what the mount says at its end."""
    served = (Commanded if cell[3].endswith("by command") else Served)(args, source, cell, delay)
    group = Group(cell[4]) if cell[4] else None
    if warm:
        timed(job(served.at))
    seconds = timed(job(served.at), group)
    said = served.end()
    if group:
        group.close()
    return seconds, said


def row(name, cache, runs, asked=None):
    """A line of the table: the median of the seconds with the spread, hit rate, bytes."""
    seconds = sorted(seconds for seconds, _ in runs)
    said = runs[0][1]
    share = ""
    if said and said["references"]:
        share = f"{100 * said['hits'] / said['references']:.1f} %"
    elif said and asked:
        share = f"{100 * (1 - said['bytes_read'] / asked):.1f} %"
    moved = f"{said['bytes_read'] / 1e6:.1f}" if said else ""
    if said and said.get("resident"):
        cache += f" ({said['resident'] / 2**20:.1f} MiB resident)"
    spread = f"{statistics.median(seconds):.2f} ({seconds[0]:.2f}–{seconds[-1]:.2f})"
    line = f"| {name} | {cache} | {spread} | {share} | {moved} |"
    print(line, flush=True)
    return line


HEAD = ["| working set | cache | seconds | hit rate | MB read from the source |", "|---|---|---|---|---|"]


def slow_sets(args, lines):
    """The table of the working sets on the slow source."""
    # An interpreter needs some memory besides the pages that the kernel caches for it.
    limit = args.memory + args.spare
    delay = (args.seek_us, args.mb_per_s)
    cells = [BARE, ("kernel", 0, "lru", "fast", limit)]
    cells += [(f"strict {policy}", args.memory, policy, "strict", 0) for policy in args.policies.split(",")]
    cells += [(f"fast {policy}", args.memory, policy, "fast", limit) for policy in args.fast.split(",")]
    cells += [(f"{mode} {policy}, command", args.memory, policy, f"{mode} by command", 0) for policy in args.steered.split(",") for mode in ("strict", "steered")]
    lines += HEAD
    with tempfile.TemporaryDirectory() as source, tempfile.TemporaryDirectory() as folder:
        with open(Path(source) / "data", "wb") as file:
            for _ in range(4 * args.memory >> 20):
                file.write(os.urandom(1 << 20))
        for name, offsets in sets(args.memory):
            job = read(offsets, folder)
            for cell in cells:
                runs = [run(args, source, job, cell, delay) for _ in range(args.runs)]
                lines.append(row(name, cell[0], runs, len(offsets) * BLOCK))


def tree(folder):
    """The sources of zstd, unpacked."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    archives = sorted(home.glob("registry/cache/*/zstd-sys-*.crate"))
    if not archives:
        sys.exit("the archive of zstd-sys is not among those that cargo has fetched: run cargo fetch")
    with tarfile.open(archives[-1]) as archive:
        archive.extractall(folder, filter="data")
    return str(next(Path(folder).glob("zstd-sys-*")))


def builds(args, lines):
    """The table of a build: on the slow source, and without a delay beside the directory itself."""
    name = "a build of zstd, 8 MiB"
    slow = (args.seek_us, args.mb_per_s)
    memory = 8 << 20
    cells = [BARE, ("kernel, no limit", 0, "lru", "fast", 0)]
    cells += [("strict lru", memory, "lru", "strict", 0), ("strict arc", memory, "arc", "strict", 0), ("fast lru", memory, "lru", "fast", 0)]
    lines += ["", *HEAD]
    with tempfile.TemporaryDirectory() as folder:
        source = tree(folder)
        for cell in cells:
            lines.append(row(name, cell[0], [run(args, source, build, cell, slow) for _ in range(args.runs)]))


def fits(args, lines):
    """The table of data that fits, without a delay, read once before it is timed."""
    lines += ["", "Without a delay, everything read once before:", "", *HEAD]
    memory = 4 * args.memory
    cells = [("pass-through, no cache", 0, "lru", "strict", 0), ("fast lru", memory, "lru", "fast", 0), ("strict lru", memory, "lru", "strict", 0)]
    cells += [("steered lru, command", memory, "lru", "steered by command", 0)]
    draw = random.Random(2)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as plans:
        source = folder if args.only == "reads" else tree(folder)
        (Path(source) / "data").write_bytes(os.urandom(args.memory))
        jobs = [] if args.only == "reads" else [("a build of zstd", build)]
        for kib, count in [(4, 100_000), (64, 20_000)]:
            blocks = args.memory // (kib << 10)
            plan = [draw.randrange(blocks) for _ in range(count)]
            jobs.append((f"{count:,} reads of {kib} KiB that fit", read(plan, plans, kib << 10)))
        for name, job in jobs:
            timed(job(source))
            lines.append(row(name, "the directory itself", [(timed(job(source)), None) for _ in range(args.runs)]))
            for cell in cells:
                runs = [run(args, source, job, cell, (0, 1e9), warm=True) for _ in range(args.runs)]
                lines.append(row(name, cell[0], runs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mount", required=True)
    parser.add_argument("--hotset", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--memory", type=int, default=16 << 20)
    parser.add_argument("--spare", type=int, default=12 << 20)
    parser.add_argument("--seek-us", type=int, default=2000)
    parser.add_argument("--mb-per-s", type=float, default=100)
    parser.add_argument("--policies", default="lru,mru,arc,lirs,s3-fifo")
    parser.add_argument("--fast", default="lru,mru")
    parser.add_argument("--steered", default="lru,lirs", help="policies of the modes strict and steered by the command")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=["reads"])
    args = parser.parse_args()
    loads = os.getloadavg()[0]
    lines = []
    fits(args, lines)
    if not args.only:
        builds(args, lines)
    lines += [""]
    slow_sets(args, lines)
    about = (
        f"Memory {args.memory >> 20} MiB, reads of {BLOCK >> 10} KiB, a seek {args.seek_us / 1000:g} ms, {args.mb_per_s:g} MB/s; "
        f"a limited reader has {args.spare >> 20} MiB more for itself. Seconds are the median of {args.runs} runs (and the least and most). "
        f"Load average {loads:.1f} at the start, {os.getloadavg()[0]:.1f} at the end, on {os.cpu_count()} processors."
    )
    Path(args.out).parent.mkdir(parents=True, exist_ok=True)
    Path(args.out).write_text("\n".join([about, *lines]) + "\n")


main()
