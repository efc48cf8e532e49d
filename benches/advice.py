#!/usr/bin/env python3
"""Ten programs whose right advice is known: what `hotset advise` says of each, and what `hotset try` measures.

Each program reads files below its folder under a memory limit, on storage that is limited to --mb-per-s. `advise` records one run and names measures.
`try` runs the program as it is, with the kernel steered by two policies, and with twice the memory. A measure gains if its saved seconds and bytes are
significant (95 %) and at least 5 %. The column `expected` was written before anything was measured. Advice and measurement agree on a program if
  steer   advise lists `steer`, and try measures a gain of one of its policies; or neither
  memory  the same for more memory. advise looks for memory that is enough, try for twice the memory
Where most touches are invisible or too little repeats, advise gives no figures and names what to run instead: it claims nothing.
PostgreSQL is a service: its control group is tried with `hotset try --cgroup`, while pgbench runs.

Needs root, BPF, and control groups of version 1 with the controllers memory and blkio. PostgreSQL and SQLite are left out where they are not installed.
  cargo build --release
  python3 benches/advice.py --hotset target/release/hotset --folder /on/the/disk --out benches/runs/advice.md
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from group import Group, drop

MIB = 1 << 20

LOOP = """
import sys
for lap in range(5):
    for name in sys.argv[1:]:
        with open(name, "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
"""

HOT = """
import os, random, sys
random.seed(1)
hot, cold = (os.open(name, os.O_RDONLY) for name in sys.argv[1:])
pages = os.fstat(hot).st_size >> 12
for lap in range(3):
    for at in range(0, os.fstat(cold).st_size, 1 << 18):
        os.pread(cold, 1 << 18, at)
        for _ in range(32):
            os.pread(hot, 4096, random.randrange(pages) << 12)
"""

RANDOM = """
import os, random, sys
random.seed(1)
file = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
pages = os.fstat(file).st_size >> 12
for _ in range(120000):
    os.pread(file, 4096, random.randrange(pages) << 12)
"""

WRITES = """
import os, sys
with open(sys.argv[1], "wb") as file:
    for _ in range(200):
        file.write(bytes(1 << 20))
    file.flush()
    os.fsync(file.fileno())
"""

MAPPED = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
view = mmap.mmap(file, 0, prot=mmap.PROT_READ)
total = 0
for lap in range(5):
    for at in range(0, len(view), 4096):
        total += view[at]
print(total)
"""

DIRECT = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 1 << 20)
for lap in range(4):
    at = 0
    while read := os.preadv(file, [page], at):
        at += read
"""

SQLITE = """
import random, sqlite3, sys
random.seed(1)
base = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro&immutable=1", uri=True)
base.execute("pragma cache_size = -2000")
rows = base.execute("select max(id) from item").fetchone()[0]
total = 0
for _ in range(60000):
    total += len(base.execute("select body from item where id = ?", (random.randint(1, rows),)).fetchone()[0])
print(total)
"""

PROGRAM = """
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
int f{0}(int n) {{ char b[64]; snprintf(b, sizeof b, "%d", n); return (int)strlen(b) + {0}; }}
"""


def made(path, mib):
    with open(path, "wb") as file:
        for _ in range(mib):
            file.write(os.urandom(MIB))
    return str(path)


def sqlite_file(path, mib):
    import sqlite3

    base = sqlite3.connect(path)
    base.execute("create table item (id integer primary key, body blob)")
    base.executemany("insert into item (body) values (?)", ((os.urandom(900),) for _ in range(mib * 1024)))
    base.commit()
    base.close()
    return str(path)


def sources(folder):
    folder.mkdir()
    names = []
    for number in range(60):
        names.append(folder / f"f{number}.c")
        names[-1].write_text(PROGRAM.format(number))
    return "for file in " + " ".join(map(str, names)) + "; do gcc -O1 -c $file -o /dev/null; done"


def programs(folder, out):
    """Name, what is expected of steering and of memory, MiB of memory, the directory, and the command."""

    def place(name):
        (folder / name).mkdir()
        return folder / name

    def python(code, *paths):
        return [sys.executable, "-c", code, *map(str, paths)]

    loop, hot, some, fits, writes, mapped, direct, base = map(place, ("loop", "hot", "random", "fits", "writes", "mapped", "direct", "sqlite"))
    yield "a loop over files", "gain", "gain", 64, loop, python(LOOP, *[made(loop / str(n), 12) for n in range(9)])
    yield "a scan beside a hot set", "any", "gain", 64, hot, python(HOT, made(hot / "hot", 40), made(hot / "cold", 200))
    yield "random reads", "nothing", "gain", 64, some, python(RANDOM, made(some / "data", 144))
    yield "a loop that fits", "nothing", "nothing", 128, fits, python(LOOP, made(fits / "data", 48))
    made(writes / "unread", 1)
    yield "writes alone", "nothing", "nothing", 64, writes, python(WRITES, out / "written")
    yield "a loop over a mapping", "gain", "gain", 64, mapped, python(MAPPED, made(mapped / "data", 108))
    yield "direct I/O", "nothing", "nothing", 64, direct, python(DIRECT, made(direct / "data", 100))
    yield "SQLite, look-ups at random", "nothing", "gain", 64, base, python(SQLITE, sqlite_file(base / "items.sqlite", 110))
    source = folder / "source"
    yield "a compiler", "nothing", "nothing", 128, source, ["sh", "-c", sources(source)]


class Throttle:
    """A control group whose reads from the disk of a folder are limited; this process and its children are in it."""

    def __init__(self, folder, mb_per_s):
        root = Path("/sys/fs/cgroup/blkio")
        # The slice that this process came from.
        self.home = root / next(line.split(":")[2] for line in Path("/proc/self/cgroup").read_text().splitlines() if "blkio" in line).lstrip("/")
        self.path = root / f"hotset-bench-{os.getpid()}"
        self.path.mkdir()
        device = os.stat(folder).st_dev
        (self.path / "blkio.throttle.read_bps_device").write_text(f"{os.major(device)}:{os.minor(device)} {mb_per_s * 1000 * 1000}")
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        (self.home / "cgroup.procs").write_text(str(os.getpid()))
        for _ in range(100):
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.1)


def told(line):
    done = subprocess.run(line, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        sys.exit(f"{' '.join(line)[:200]}: status {done.returncode}: {done.stderr[-500:]}")


def advised(hotset, memory, command):
    """The finding, the measures by name, and the policies to try: two that try has by default, and that of the advice."""
    return of_advice(told([hotset, "advise", "--size", f"{memory}M", "--json", "-", "--", *command]))


def of_advice(advice):
    measures = advice.get("measures", [])
    named = [measure["policy"] for measure in measures if measure["do"] == "steer"]
    return advice["finding"], {measure["do"] for measure in measures}, ",".join(dict.fromkeys(["lirs", "arc", *named]))


def is_gain(gain):
    return gain is not None and gain["half"] is not None and gain["saved"] > gain["half"] and gain["saved"] >= 0.05 * gain["kernel"]


def measured(hotset, memory, folder, command, runs, policies):
    """The kinds of candidates that gain, and the seconds of all."""
    trial = told([hotset, "try", str(folder), "--policy", policies, "--memory", f"{memory}M", "--runs", str(runs), "--budget", "15m", "--yes", "--json", "-", "--", *command])
    rows = trial["candidates"]
    seconds = {row["name"].split()[0] if at == 0 else row["name"]: row["seconds"]["steered"] for at, row in enumerate(rows)}
    gains = {row["name"].split()[0] for row in rows[1:] if is_gain(row["seconds"]) and is_gain(row["read_bytes"])}
    return gains, seconds or {"as": trial["first"]["seconds"]}


class Postgres:
    """A server in a control group, and pgbench on it."""

    def __init__(self, bins, folder, mib):
        self.bins, self.data = Path(bins), folder / "postgres"
        self.data.mkdir()
        shutil.chown(self.data, "nobody")
        self.group = Group(mib * MIB, "-postgres")
        self.run("initdb", "-D", str(self.data), "-A", "trust", "-U", "bench")
        options = f"-c listen_addresses= -c unix_socket_directories={self.data} -c shared_buffers=8MB -c maintenance_work_mem=8MB -c fsync=off"
        subprocess.run(self.line("pg_ctl", "-D", str(self.data), "-o", options, "-w", "-l", str(self.data / "log"), "start"), check=True, stdout=subprocess.DEVNULL, cwd=self.data,
                       preexec_fn=self.group.enter)
        self.run("createdb", "-h", str(self.data), "-U", "bench", "bench")
        self.run("pgbench", "-h", str(self.data), "-U", "bench", "-i", "-s", "14", "-q", "bench")

    def line(self, name, *arguments):
        return ["setpriv", "--reuid=nobody", "--clear-groups", str(self.bins / name), *arguments]

    def run(self, name, *arguments):
        subprocess.run(self.line(name, *arguments), check=True, capture_output=True, cwd=self.data)

    def load(self, *options):
        return self.line("pgbench", "-h", str(self.data), "-U", "bench", "-n", "-S", "-c", "2", *options, "bench")

    def close(self):
        self.run("pg_ctl", "-D", str(self.data), "-m", "immediate", "stop")
        for _ in range(100):
            try:
                return self.group.close()
            except OSError:
                time.sleep(0.1)


def service(args, folder):
    """PostgreSQL: the advice on a recording of its look-ups, and the trial of its control group."""
    server = Postgres(args.postgres, folder, 64)
    try:
        trace = folder / "postgres.hst"
        load = subprocess.Popen(server.load("-T", "25"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=server.data)
        postmaster = (server.data / "postmaster.pid").read_text().split()[0]
        time.sleep(2)
        recorder = subprocess.Popen([args.hotset, "record", "--via", "bpf", "--page-cache", "--pid", postmaster, "-o", str(trace)], stderr=subprocess.DEVNULL)
        time.sleep(18)
        recorder.send_signal(2)
        recorder.wait()
        load.wait()
        finding, measures, policies = of_advice(told([args.hotset, "advise", str(trace), "--size", "48M", "--json", "-"]))
        load = subprocess.Popen(server.load("-T", str(args.service_seconds + 10)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=server.data)
        line = [args.hotset, "try", str(server.data), "--cgroup", str(server.group.path), "--policy", policies, "--budget", f"{args.service_seconds}s", "--json", "-"]
        trial = told(line)
        load.kill()
        load.wait()
        return finding, measures, trial
    finally:
        server.close()


def mark(is_so):
    return "gain" if is_so else "nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hotset", required=True, type=os.path.abspath)
    parser.add_argument("--folder", required=True, help="a directory on a disk, where about 1.2 GB are made")
    parser.add_argument("--mb-per-s", type=int, default=150, help="bandwidth of reads from the disk")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", help="programs whose names contain this")
    parser.add_argument("--postgres", help="directory of initdb, pg_ctl and pgbench")
    parser.add_argument("--service-seconds", type=int, default=240)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=args.folder, prefix="advice-"))
    os.chmod(folder, 0o755)
    out = folder / "out"
    out.mkdir()
    rows = ["| program | expected: steer, memory | advise | try: seconds | try: steer, memory | agree |", "|---|---|---|---|---|---|"]
    throttle = Throttle(folder, args.mb_per_s)
    try:
        for name, steer, memory, mib, place, command in programs(folder, out):
            if args.only and args.only not in name:
                continue
            drop(folder)
            finding, measures, policies = advised(args.hotset, mib, command)
            gains, seconds = measured(args.hotset, mib, place, command, args.runs, policies)
            listed = ", ".join(sorted(measures)) or finding
            shown = ", ".join(f"{key} {value:.2f}" for key, value in seconds.items())
            agree = all((what in measures) == (what in gains) for what in ("steer", "memory"))
            verdict = "yes" if agree else "no claim" if finding in ("unseen", "too-little") else "no"
            rows.append(f"| {name} | {steer}, {memory} | {listed} | {shown} | {mark('steer' in gains)}, {mark('memory' in gains)} | {verdict} |")
            print(rows[-1], flush=True)
        if args.postgres and (not args.only or args.only in "PostgreSQL"):
            finding, measures, trial = service(args, folder)
            listed = ", ".join(sorted(measures)) or finding
            has_gained = trial.get("best") is not None
            rows.append(f"| PostgreSQL, look-ups at random | nothing, gain | {listed} | {trial['conclusion']} | {mark(has_gained)}, not tried | {'yes' if has_gained == ('steer' in measures) else 'no'} |")
            print(rows[-1], flush=True)
    finally:
        throttle.close()
        shutil.rmtree(folder)
    if args.out:
        args.out.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
