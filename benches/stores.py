#!/usr/bin/env python3
"""A store of objects mounted by hotset, by rclone (`--vfs-cache-mode full`) and by s3fs with its cache, all in one run.

The store (`crates/testkit/examples/s3.rs`) stands on this machine: each request takes LATENCY_MS before its first byte comes, a connection has
CONNECTION_MB_PER_S, all together ALL_MB_PER_S; it counts what it is asked, and what it sends. Each job has a mount, new, with nothing cached:
  first read   a big file from its begin to its end, 1 MiB a call; then again, which is a row of its own
  grep         `grep -r` over a tree of small files; then again
  build        sources in C are compiled, two at a time, what comes out lies elsewhere; then again
  random       reads of 8 KiB at random places of a database, 80 % of them in a fifth of it, by one process, after SQLite's habit
  loop         a file of twice the memory, three times
  scan         reads of 64 KiB within a hot set of half the memory, and between them a file of twice the memory is read once
A cache of hotset lives in memory; those of rclone and s3fs live on the disk, of the same size: rclone's by `--vfs-cache-max-size`, looked at each
second, s3fs's by a file system in memory of that size with `ensure_diskfree`. The kernel caches rclone's files beside that, and pages of their mounts, of
which the reader's control group allows few. A job that takes longer than MOST seconds is stopped.

Needs root, /dev/fuse, the memory controller of control groups, rclone and s3fs, and for `build` gcc and a library in C (zstd's is among what
cargo has fetched; `--sources` names another). Build first:
  cargo build --release --bin hotset
  cargo build --release -p hotset-testkit --example s3
  python3 benches/stores.py --bin target/release --out benches/runs/stores.md
"""

import argparse
import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from group import Group

MIB = 1 << 20

# MiB of its file system that s3fs keeps free, since it keeps space for eight parts of five.
KEPT_FREE = 64

# MiB that compilers may have.
COMPILER = 512

READER = """
import json, os, sys, time
plan = json.load(open(sys.argv[1]))
opened, started = {}, time.monotonic()
for name, offset, length in plan:
    if name not in opened:
        opened[name] = os.open(os.path.join(sys.argv[2], name), os.O_RDONLY)
    if len(os.pread(opened[name], length, offset)) != length:
        sys.exit("a read was short")
print(time.monotonic() - started)
"""


def jobs(memory, folder):
    """Jobs by name: the names of the rows, and a command for each, which gets the mountpoint."""
    draw = random.Random(1)
    whole = lambda name, size, step=MIB: [(name, at, step) for at in range(0, size, step)]
    pages = memory // 8192 * 2
    places = [draw.randrange(pages // 5) if draw.random() < 0.8 else draw.randrange(pages) for _ in range(2000)]
    scan = whole("scan", 2 * memory, 1 << 16)
    hot = memory // 2 >> 16
    beside = [read for other in scan for read in (("hot", draw.randrange(hot) << 16, 1 << 16), other)]
    plans = {
        "big": whole("big", memory // 2),
        "random": [("database", place * 8192, 8192) for place in places],
        "loop": whole("loop", 2 * memory) * 3,
        "scan": beside,
    }
    command = {}
    for name, plan in plans.items():
        path = Path(folder) / name
        path.write_text(json.dumps(plan))
        command[name] = lambda at, path=path: [sys.executable, "-c", READER, str(path), str(at)]
    grep = lambda at: ["grep", "-rc", "zzz", str(at / "tree")]
    out = Path(folder) / "out"
    out.mkdir()
    compile_all = f'cd {out} && find "$0" -name "*.c" | sort | xargs -P2 -n1 gcc -O0 -w -c -I "$0" -I "$0/common"'
    build = lambda at: ["sh", "-c", compile_all, str(at / "sources")]
    return {
        "big": [("first read of a big file", command["big"]), ("the same again", command["big"])],
        "grep": [("grep over small files", grep), ("the same again", grep)],
        "build": [("a build", build), ("the same again", build)],
        "random": [("random reads of a database", command["random"])],
        "loop": [("a loop over twice the memory, three laps", command["loop"])],
        "scan": [("a scan beside a hot set", command["scan"])],
    }


def fill(folder, memory, files, sources):
    """The objects of the store."""
    draw = random.Random(2)
    for name, size in [("big", memory // 2), ("database", 2 * memory), ("loop", 2 * memory), ("scan", 2 * memory), ("hot", memory // 2)]:
        with open(folder / name, "wb") as file:
            for _ in range(size // MIB):
                file.write(draw.randbytes(MIB))
    for number in range(files):
        path = folder / "tree" / f"d{number % 8}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(draw.randbytes(draw.randrange(1 << 10, 16 << 10)))
    if sources:
        shutil.copytree(sources, folder / "sources")


def fetched_sources():
    """Those of zstd, if cargo has fetched them."""
    return next(Path.home().glob(".cargo/registry/src/*/zstd-sys-*/zstd/lib"), None)


class Store:
    """The store as a process."""

    def __init__(self, args, folder):
        slow = [str(number) for number in (args.slow or [])]
        rates = [str(args.latency_ms), str(args.connection_mb_per_s), str(args.all_mb_per_s)]
        command = [f"{args.bin}/examples/s3", str(folder), *rates, *slow]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()

    def counts(self):
        """Requests and bytes sent since the last call."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWSACCESSKEYID": "key", "AWSSECRETACCESSKEY": "secret", "AWS_REGION": "us-east-1"}


def hotset(args):
    """The command."""
    return args.hotset or f"{args.bin}/hotset"


def commands(args, store, at, cache):
    """How each serves the bucket at a place, by name."""
    memory = f"{args.memory}B"
    ours = [hotset(args), "mount", "s3://bucket", str(at), "--memory", memory, "--staleness", "60s"]
    rclone = ["rclone", "mount", ":s3:bucket", str(at), "--config", "/dev/null", "--s3-provider", "Other", "--s3-endpoint", store.url, "--s3-env-auth"]
    rclone += ["--read-only", "--vfs-cache-mode", "full", "--cache-dir", str(cache), "--vfs-cache-max-size", f"{args.memory >> 10}Ki"]
    rclone += ["--vfs-cache-poll-interval", "1s", "--dir-cache-time", "60s", "--use-server-modtime", "--vfs-fast-fingerprint", "--s3-list-version", "2"]
    s3fs = ["s3fs", "bucket", str(at), "-f", "-o", f"ro,url={store.url},use_path_request_style,listobjectsv2,use_cache={cache}"]
    s3fs += ["-o", f"ensure_diskfree={KEPT_FREE},stat_cache_expire=60,parallel_count=8,multipart_size=5"]
    found = {f"hotset {name}": [*ours, "--policy", *name.split()] for name in args.policies.split(",")}
    return found | {"rclone": [*rclone, "--buffer-size", "16M"], "s3fs": s3fs}


class Mount:
    """A mount by one of them, until it is ended."""

    def __init__(self, args, store, name, memory):
        self.folder = tempfile.TemporaryDirectory()
        self.at, self.cache = Path(self.folder.name) / "at", Path(self.folder.name) / "cache"
        self.at.mkdir()
        self.cache.mkdir()
        self.has_disk = name == "s3fs"
        self.hotset = hotset(args) if name.startswith("hotset") else None
        if self.has_disk:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={args.memory + KEPT_FREE * MIB}", "cache", str(self.cache)], check=True)
        self.group = Group(memory * MIB)
        command = commands(args, store, self.at, self.cache)[name]
        keys = {**os.environ, **KEYS, "AWS_ENDPOINT_URL": store.url}
        keys.pop("AWS_CA_BUNDLE", None)
        self.log = open(Path(self.folder.name) / "log", "w+")
        self.process = subprocess.Popen(command, env=keys, stdout=self.log, stderr=self.log)
        while not os.path.ismount(self.at):
            if self.process.poll() is not None:
                self.log.seek(0)
                sys.exit(f"{name} has ended: {self.log.read()}")
            time.sleep(0.01)

    def peak(self):
        """MiB that the process has had in memory at most."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024

    def counted(self):
        """Hits and misses of data so far, if it tells."""
        if not self.hotset:
            return (0, 0)
        status = json.loads(subprocess.run([self.hotset, "ctl", str(self.at), "status"], capture_output=True, check=True).stdout)
        total = status.get("total", status)
        return total["hits"], total["references"] - total["hits"]

    def end(self):
        while subprocess.run(["umount", str(self.at)], capture_output=True).returncode and self.process.poll() is None:
            time.sleep(0.05)
        self.process.wait()
        if self.has_disk:
            subprocess.run(["umount", str(self.cache)], check=True)
        self.group.close()
        self.log.close()
        self.folder.cleanup()


def run(args, store, name, job, memory):
    """Of each row of a job: seconds, the store's counts, MiB of memory, the hit ratio if known."""
    mount = Mount(args, store, name, memory)
    try:
        rows = rows_of(args, store, mount, name, job)
    finally:
        mount.end()
    return rows + (len(job) - len(rows)) * rows[-1:]


def finish(command, before, most):
    """The output of a command; all of its processes end after `most` seconds."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before, start_new_session=True)
    try:
        told = process.communicate(timeout=most)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, *told)


def rows_of(args, store, mount, name, job):
    """The same of a mount, as far as the job came in time."""
    rows, before = [], (0, 0)
    store.counts()
    for _, command in job:
        started = time.monotonic()
        try:
            done = finish(command(mount.at), mount.group.enter, args.most)
        except subprocess.TimeoutExpired:
            rows.append((math.inf, store.counts(), mount.peak(), None))
            break
        seconds = time.monotonic() - started
        if done.returncode not in (0, 1) or done.stderr:
            sys.exit(f"{name}: {done.stderr}")
        try:
            seconds = float(done.stdout)
        except ValueError:
            pass
        counted = mount.counted()
        hits, misses = (now - then for now, then in zip(counted, before))
        rows.append((seconds, store.counts(), mount.peak(), hits / (hits + misses) if hits + misses else None))
        before = counted
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--hotset", help="another hotset than that of --bin")
    parser.add_argument("--out", required=True)
    parser.add_argument("--memory", type=int, default=64 * MIB)
    parser.add_argument("--reader", type=int, default=32, help="MiB that the reader may have, with the pages that the kernel caches for it")
    parser.add_argument("--most", type=int, default=60, help="seconds after which a job is stopped")
    parser.add_argument("--latency-ms", type=int, default=20)
    parser.add_argument("--connection-mb-per-s", type=int, default=50)
    parser.add_argument("--all-mb-per-s", type=int, default=250)
    parser.add_argument("--slow", type=int, nargs=2, metavar=("EVERY", "MS"), help="one in so many requests takes so much longer")
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--sources", default=fetched_sources(), help="a library in C, all of whose sources compile by themselves")
    parser.add_argument("--policies", default="lru,s3-fifo")
    parser.add_argument("--peers", default="rclone,s3fs")
    parser.add_argument("--jobs", default="big,grep,build,random,loop,scan")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    names = [f"hotset {name}" for name in args.policies.split(",") if name] + [name for name in args.peers.split(",") if name]
    load = os.getloadavg()[0]
    wanted = args.jobs.split(",")
    if "build" in wanted and not args.sources:
        sys.exit("build: no sources found in cargo's registry: name a library in C by --sources, or leave build out of --jobs")
    lines = ["| job | served by | seconds | requests: data, names, listings | MB sent | most at a time | MiB of memory | hits |", "|---|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as data, tempfile.TemporaryDirectory() as plans:
        fill(Path(data), args.memory, args.files, args.sources if "build" in wanted else None)
        store = Store(args, data)
        for which, job in jobs(args.memory, plans).items():
            if which not in wanted:
                continue
            memory = COMPILER if which == "build" else args.reader
            done = {name: [run(args, store, name, job, memory) for _ in range(args.runs)] for name in names}
            for place, (title, _) in enumerate(job):
                for name, runs in done.items():
                    of_row = sorted((rows[place] for rows in runs), key=lambda row: row[0])
                    seconds = [row[0] for row in of_row]
                    _, counts, peak, ratio = of_row[len(of_row) // 2]
                    spread = f"{statistics.median(seconds):.2f} ({seconds[0]:.2f}–{seconds[-1]:.2f})".replace("inf", f"over {args.most}")
                    told = "" if ratio is None else f"{ratio:.1%}"
                    asked = f"{counts['gets']}, {counts['heads']}, {counts['lists']}"
                    lines.append(f"| {title} | {name} | {spread} | {asked} | {counts['bytes'] / 1e6:.1f} | {counts['most']} | {peak:.0f} | {told} |")
                    print(lines[-1], flush=True)
        store.end()
    about = (
        f"A request takes {args.latency_ms} ms, a connection has {args.connection_mb_per_s} MB/s, all together {args.all_mb_per_s} MB/s. Memory {args.memory >> 20} MiB; "
        f"the reader may have {args.reader} MiB, compilers {COMPILER}. {args.files} small files. Seconds are the median of {args.runs} runs (and the least and most). "
        f"Load average {load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end, on {os.cpu_count()} processors."
    )
    Path(args.out).parent.mkdir(parents=True, exist_ok=True)
    Path(args.out).write_text("\n".join([about, "", *lines]) + "\n")


if __name__ == "__main__":
    main()
