#!/usr/bin/env python3
"""The kernel's page cache alone beside the same one under `hotset steer`, at the same limit of a control group, on the same files and a throttled disk.

    benches/steer.py --hotset target/release/hotset --folder DIR [--memory 152] [--pairs 3] [--rate 100] [--only NAME]… [--out FILE]

Each row is one way of reading 1.7 times the memory (zipf: 2.5 times), or programs: grep over a tree, gcc, a program that hashes what fits, PostgreSQL (by the
user postgres; choose them with --only), TPC-C on it (by go-tpc, named by --go-tpc), TPC-H on it (the
tables that `tpchgen-cli csv -s 0.3` has made in the folder --tpch), Blender (--blender; it takes half a GiB itself, so choose --memory for that). A pair is the kernel alone and steered, one right after the other, in turns which comes
first; every run begins with nothing cached and a new control group. The second half of a run counts: by then steering has begun, if it does. `disk` is what
was read from disk (read_bytes of /proc/PID/io, for programs the counts of the control group) per byte that was asked for, for programs per byte of their files; differences are means of pairs with 95 % intervals (Student). The disk
is slowed by the readers' control group (blkio.throttle, or io.max) to RATE MiB/s; where neither can be had that is said, and the disk is as fast as it is.
Needs root, control groups with memory, and DIR on a disk.
"""

import argparse
import itertools
import json
import math
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BLOCK = 64 * 1024
# Of the server of PostgreSQL, on loopback.
PORT = 54329
MEMORY_1 = Path("/sys/fs/cgroup/memory")
BLKIO_1 = Path("/sys/fs/cgroup/blkio")
# Student's t for 95 %, by degrees of freedom.
STUDENT = [math.inf, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20]

READER = r"""
import json, mmap, os, sys, time
path, plan, way = sys.argv[1:4]
blocks = json.load(open(plan))
file = os.open(path, os.O_RDONLY)
if way != "ahead":
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
mapped = mmap.mmap(file, 0, prot=mmap.PROT_READ) if way == "mmap" else None
def from_disk():
    return next(int(line.split()[1]) for line in open("/proc/self/io") if line.startswith("read_bytes"))
import hashlib
BLOCK, buffer, half = 65536, [bytearray(65536)], len(blocks) // 2
marks = []
for part in (blocks[:half], blocks[half:]):
    started, before = time.monotonic(), from_disk()
    for block in part:
        if mapped:
            at = block * BLOCK
            for page in range(at, at + BLOCK, 4096):
                mapped[page]
        else:
            os.preadv(file, buffer, block * BLOCK)
            if way == "hash":
                hashlib.sha256(buffer[0]).digest()
    marks.append((time.monotonic() - started, from_disk() - before, len(part) * BLOCK))
print(json.dumps(marks))
"""


class Group:
    """Control groups of the readers: a limit of memory, and one of the disk."""

    def __init__(self, limit, device, rate):
        self.is_old = (MEMORY_1 / "memory.limit_in_bytes").exists()
        name = f"hotset-bench-{os.getpid()}"
        self.memory = (MEMORY_1 if self.is_old else Path("/sys/fs/cgroup")) / name
        self.memory.mkdir()
        (self.memory / ("memory.limit_in_bytes" if self.is_old else "memory.max")).write_text(str(limit))
        self.folders = [self.memory]
        bytes_a_second = rate * 2**20
        if self.is_old and BLKIO_1.exists():
            self.folders.append(BLKIO_1 / name)
            self.folders[1].mkdir()
            (self.folders[1] / "blkio.throttle.read_bps_device").write_text(f"{device} {bytes_a_second}")
        elif not self.is_old and (self.memory / "io.max").exists():
            (self.memory / "io.max").write_text(f"{device} rbps={bytes_a_second}")
        else:
            print("no control group can slow the disk here: it is as fast as it is", file=sys.stderr)

    def enter(self):
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(os.getpid()))

    def from_disk(self):
        """Bytes that were read from disk for it."""
        if self.is_old:
            lines = [line.split() for line in (self.folders[-1] / "blkio.throttle.io_service_bytes").read_text().splitlines()]
            return sum(int(line[2]) for line in lines if line[1:2] == ["Read"])
        words = (self.memory / "io.stat").read_text().split()
        return sum(int(word.removeprefix("rbytes=")) for word in words if word.startswith("rbytes="))

    def remove(self):
        for folder in self.folders:
            for _ in range(100):
                try:
                    folder.rmdir()
                    break
                except OSError:
                    time.sleep(0.1)


class Readers:
    """Processes that read blocks of one file, by plans."""

    def __init__(self, place, way, plans):
        self.path, self.way, self.plans = place / "data" / "file", way, []
        for number, blocks in enumerate(plans):
            self.plans.append(str(place / f"plan-{number}"))
            Path(self.plans[-1]).write_text(json.dumps(blocks))
        self.folder = self.path.parent

    def measure(self, group):
        """Seconds, and what was read from disk per byte, of the second half."""
        start = lambda plan: subprocess.Popen(
            [sys.executable, "-c", READER, str(self.path), plan, self.way], stdout=subprocess.PIPE, text=True, preexec_fn=group.enter
        )
        readers = [start(plan) for plan in self.plans]
        marks = [json.loads(reader.communicate()[0])[1] for reader in readers]
        return max(mark[0] for mark in marks), sum(mark[1] for mark in marks) / sum(mark[2] for mark in marks)


class Programs:
    """Commands of a shell, run several times over a folder of files; the second half of the passes counts."""

    def __init__(self, folder, command, passes, before="true", after="true"):
        self.folder, self.command, self.passes, self.before, self.after = folder, command, passes, before, after

    def run(self, group, command):
        subprocess.run(["sh", "-c", command], cwd=self.folder, check=True, stdout=subprocess.DEVNULL, preexec_fn=group.enter)

    def measure(self, group):
        self.run(group, self.before)
        try:
            for done in range(self.passes):
                if done == self.passes // 2:
                    started, before = time.monotonic(), group.from_disk()
                self.run(group, self.command)
            size = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
            return time.monotonic() - started, (group.from_disk() - before) / size / (self.passes - self.passes // 2)
        finally:
            self.run(group, self.after)


def tree(place, memory):
    """A folder with 1.7 times the memory in text files of 4 to 200 KiB."""
    draw, left = random.Random(2), int(memory * 1.7 * 2**20)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 10))) for _ in range(5000)]
    text = " ".join(draw.choices(words, k=60000)).encode()
    for number in itertools.count():
        if left <= 0:
            return place / "tree"
        path = place / "tree" / str(number // 100) / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        size, start = draw.randint(4, 200) * 1024, draw.randrange(2**17)
        path.write_bytes(text[start : start + size])
        left -= size


def sources(place):
    """A folder with programs in C."""
    (place / "sources").mkdir()
    for number in range(40):
        body = "\n".join(f"int f{number}_{at}(int x) {{ return printf(\"%d\", x * {at}) + (int)strlen(\"a\"); }}" for at in range(200))
        (place / "sources" / f"{number}.c").write_text(f"#include <stdio.h>\n#include <string.h>\n#include <stdlib.h>\n#include <math.h>\n{body}\n")
    return place / "sources"


def database(place, fill):
    """A server of PostgreSQL with small buffers, and the command that fills it, by the folder of its socket."""
    folder, programs = place / "database", max(Path("/usr/lib/postgresql").glob("*/bin"))
    folder.mkdir()
    shutil.chown(folder, "postgres")
    place.chmod(0o711)
    as_user = lambda command: f"runuser -u postgres -- {programs}/{command}"
    quiet = f"-c shared_buffers=16MB -c autovacuum=off -c listen_addresses=127.0.0.1 -c port={PORT} -c unix_socket_directories={folder}"
    start, stop = as_user(f'pg_ctl -D {folder}/data -w -l {folder}/log -o "{quiet}" start'), as_user(f"pg_ctl -D {folder}/data -m fast -w stop")
    run = lambda script: as_user(f"{script} 2>&1")
    make = [as_user(f"initdb -A trust -D {folder}/data"), start, *fill(lambda script: run(f"{script} -h {folder} -p {PORT}")), stop]
    subprocess.run(["sh", "-ec", "\n".join(make)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    return folder, start, stop, run


def accounts(run):
    """Some 300 MiB of accounts."""
    return [run("pgbench -i -q -s 20 postgres")]


def tpcc(program, what):
    """A command of go-tpc on the server: three warehouses, some 340 MiB, two clients."""
    server = f"-d postgres -U postgres -H 127.0.0.1 -P {PORT} -D postgres --conn-params sslmode=disable"
    return f"{program} tpcc {what} --warehouses 3 -T 2 {server} >/dev/null 2>&1"


SCENE = r"""
import bpy, glob, os
bpy.ops.wm.read_factory_settings(use_empty=True)
world, scene = bpy.data.worlds.new("world"), bpy.context.scene
world.use_nodes = True
scene.world = world
for number, path in enumerate(sorted(glob.glob("*.tga"))):
    bpy.ops.mesh.primitive_plane_add(size=1, location=(number % 4, number // 4, 0))
    material = bpy.data.materials.new(path)
    material.use_nodes = True
    picture = material.node_tree.nodes.new("ShaderNodeTexImage")
    picture.image = bpy.data.images.load(os.path.abspath(path))
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    material.node_tree.links.new(picture.outputs["Color"], shader.inputs["Base Color"])
    bpy.context.object.data.materials.append(material)
bpy.ops.object.camera_add(location=(1.5, 1.5, 7))
scene.camera = bpy.context.object
scene.cycles.samples, scene.cycles.use_denoising = 4, False
scene.render.resolution_x, scene.render.resolution_y = 320, 240
scene.render.filepath = os.path.abspath("frame")
bpy.ops.wm.save_as_mainfile(filepath=os.path.abspath("film.blend"))
"""


def scene(place, blender):
    """A folder with a film of sixteen planes, each with a separate picture of 12 MiB."""
    folder, side = place / "film", 2048
    folder.mkdir()
    head = bytes([0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]) + side.to_bytes(2, "little") * 2 + bytes([24, 0])
    for number in range(16):
        (folder / f"{number}.tga").write_bytes(head + os.urandom(3 * side * side))
    subprocess.run([blender, "-b", "--python-exit-code", "1", "--python-expr", SCENE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


def column(name):
    """A column of TPC-H with its type, which its name tells."""
    kind = name.split("_")[1]
    if kind.endswith("key") or kind in ("linenumber", "size", "availqty", "shippriority"):
        return f"{name} integer"
    if kind.endswith("date"):
        return f"{name} date"
    is_number = kind.endswith(("price", "cost")) or kind in ("quantity", "discount", "tax", "acctbal")
    return f"{name} numeric(15,2)" if is_number else f"{name} text"


def tables(run, folder):
    """Loads the tables of TPC-H, with an index on what they are joined by."""
    for path in sorted(folder.glob("*.csv")):
        columns = path.open().readline().strip().split(",")
        yield run(f'psql -qc "create table {path.stem} ({", ".join(map(column, columns))})" -c "\\\\copy {path.stem} from {path} csv header" '
                  f'-c "create index on {path.stem} ({columns[0]})" postgres')
    yield run("vacuumdb -z postgres")


# Four questions of TPC-H in words of our own, with the values that its specification validates them by: the pricing summary, shipping priority,
# the forecast of revenue and shipping modes (Q1, Q3, Q6, Q12).
QUESTIONS = [
    """select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_discount), count(*)
       from lineitem where l_shipdate <= date '1998-09-02' group by 1, 2 order by 1, 2""",
    """select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate from customer join orders on o_custkey = c_custkey join lineitem on l_orderkey = o_orderkey
       where c_mktsegment = 'BUILDING' and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15' group by 1, 3 order by 2 desc limit 10""",
    """select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'
       and l_discount between 0.05 and 0.07 and l_quantity < 24""",
    """select l_shipmode, count(*) filter (where o_orderpriority in ('1-URGENT', '2-HIGH')), count(*) from orders join lineitem on l_orderkey = o_orderkey
       where l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate
       and l_receiptdate >= date '1994-01-01' and l_receiptdate < date '1995-01-01' group by 1 order by 1""",
]


def workloads(args, place):
    """By name: what makes the work, on files below a folder."""
    memory, go_tpc = args.memory, args.go_tpc
    fit = memory * 2**20 // BLOCK
    span = int(fit * 1.7)
    loop = [at % span for at in range(8 * span)]
    draw = random.Random(1)
    hot = int(fit * 0.42)
    scan = [draw.randrange(hot) if at % 2 else hot + at // 2 % (span - hot) for at in range(7 * span)]
    wide = int(fit * 2.5)
    weights = list(itertools.accumulate(1 / (rank + 1) ** 0.9 for rank in range(wide)))
    places = draw.sample(range(wide), wide)
    zipf = [places[rank] for rank in draw.choices(range(wide), cum_weights=weights, k=10 * fit)]
    shifted = [(at + span // 2) % span for at in loop]
    half = lambda blocks: blocks[: len(blocks) // 2]
    small = [at % (fit // 2) for at in range(20 * (fit // 2))]
    readers = lambda way, *plans: lambda: Readers(place, way, plans)

    def grep():
        return Programs(tree(place, memory), "grep -rc zzzzzz . | tail -1", 6)

    def build():
        return Programs(sources(place), "for file in *.c; do gcc -O1 -c $file -o ${file%.c}.o; done", 4)

    def lookups():
        folder, start, stop, run = database(place, accounts)
        return Programs(folder, run(f"pgbench -h {folder} -p {PORT} -S -n -c 2 -t 15000 postgres"), 4, start, stop)

    def scans():
        folder, start, stop, run = database(place, accounts)
        ask = "select count(*), sum(abalance), max(length(filler)) from pgbench_accounts"
        query = f'psql -h {folder} -p {PORT} -qc "set max_parallel_workers_per_gather = 0" -c "{ask}" postgres'
        return Programs(folder, run(query), 8, start, stop)

    def orders():
        folder, start, stop, _ = database(place, lambda run: [tpcc(go_tpc, "prepare --no-check"), run("vacuumdb -z postgres")])
        return Programs(folder, tpcc(go_tpc, "run --count 2000"), 4, start, stop)

    def queries():
        folder, start, stop, run = database(place, lambda run: tables(run, args.tpch))
        asked = " ".join(f'-c "{question}"' for question in ["set max_parallel_workers_per_gather = 0", *QUESTIONS])
        return Programs(folder, run(f"psql -h {folder} -p {PORT} -v ON_ERROR_STOP=1 -q {asked} postgres"), 4, start, stop)

    def film():
        folder = scene(place, args.blender)
        return Programs(folder, f"{args.blender} -b film.blend -E CYCLES -f 1", 12)

    return {
        "loop, reading ahead": readers("ahead", loop),
        "loop, random advice": readers("random", loop),
        "loop, mapped": readers("mmap", loop),
        "hot set beside a scan, random advice": readers("random", scan),
        "hot set beside a scan, reading ahead": readers("ahead", scan),
        "zipf 0.9, random advice": readers("random", zipf),
        "two loops out of phase": readers("random", half(loop), half(shifted)),
        "hashing what fits": readers("hash", small),
        "loop, hashed by two": readers("hash", half(loop), half(loop)),
        "grep over a tree": grep,
        "gcc": build,
        "PostgreSQL, look-ups": lookups,
        "PostgreSQL, scans": scans,
        **({"PostgreSQL, TPC-C": orders} if go_tpc else {}),
        **({"PostgreSQL, TPC-H": queries} if args.tpch else {}),
        **({"Blender": film} if args.blender else {}),
    }


def forget(folder):
    """Nothing of the files stays in memory."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run(args, work, steered):
    """One run: seconds, what was read from disk, and the daemon's report."""
    forget(work.folder)
    device = os.stat(work.folder).st_dev
    # A partition is slowed by its disk; the numbers are those of the whole disk where there is one.
    group = Group(args.memory * 2**20, f"{os.major(device)}:{os.minor(device)}", args.rate)
    daemon = None
    report = Path(args.folder) / f"report-{os.getpid()}.json"
    try:
        if steered:
            command = [args.hotset, "steer", str(work.folder), "--cgroup", str(group.memory), "--policy", args.policy]
            command += ["--block", "64K", "--json", str(report)] + (["--always"] if args.always else [])
            daemon = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            first = daemon.stderr.readline()
            if "watching" not in first:
                sys.exit(f"steer: {first}{daemon.stderr.read()}")
        seconds, disk = work.measure(group)
        if daemon:
            daemon.send_signal(signal.SIGTERM)
            daemon.communicate()
        return seconds, disk, json.loads(report.read_text()) if steered else None
    finally:
        if daemon and daemon.poll() is None:
            daemon.kill()
        report.unlink(missing_ok=True)
        group.remove()


def interval(differences):
    """Mean and half of its 95 % interval."""
    if len(differences) < 2:
        return differences[0], math.inf
    t = STUDENT[min(len(differences) - 1, len(STUDENT) - 1)]
    return statistics.mean(differences), t * statistics.stdev(differences) / math.sqrt(len(differences))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hotset", default="target/release/hotset")
    arguments.add_argument("--folder", default=".", help="where the file is made, on a disk")
    arguments.add_argument("--memory", type=int, default=152, help="MiB of the control group")
    arguments.add_argument("--rate", type=int, default=100, help="MiB/s of the disk")
    arguments.add_argument("--pairs", type=int, default=3)
    arguments.add_argument("--policy", default="lirs")
    arguments.add_argument("--always", action="store_true", help="steer even where it does not pay")
    arguments.add_argument("--go-tpc", help="the program, which drives TPC-C; without it that is left out")
    arguments.add_argument("--tpch", type=Path, help="a folder with the tables of TPC-H as CSV, which postgres may read; without it TPC-H is left out")
    arguments.add_argument("--blender", help="the program; without it rendering is left out")
    arguments.add_argument("--only", action="append", help="workloads whose names hold this, or another one")
    arguments.add_argument("--out", type=Path)
    args = arguments.parse_args()
    lines = [
        f"Linux {platform.release()}, {args.memory} MiB, disk of {args.rate} MiB/s, `{args.policy}`, {args.pairs} pairs"
        + (", steered always" if args.always else "")
        + "; the second half of each run\n",
        "| work | disk: kernel | steered | difference | seconds: kernel | steered | difference | steered for | daemon | pages off |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        place = Path(folder)
        path = place / "data" / "file"
        path.parent.mkdir()
        with open(path, "wb") as file:
            for _ in range(int(args.memory * 2.5) + 1):
                file.write(os.urandom(2**20))
            os.fsync(file.fileno())
        for name, make in workloads(args, place).items():
            if not any(only in name for only in args.only or [""]):
                continue
            work = make()
            pairs = []
            for pair in range(args.pairs):
                order = (False, True) if pair % 2 == 0 else (True, False)
                pairs.append({steered: run(args, work, steered) for steered in order})
            lines.append(row(name, pairs))
            print(lines[-1], flush=True)
            if work.folder != path.parent:
                shutil.rmtree(work.folder)
    if args.out:
        args.out.write_text("\n".join(lines) + "\n")


def row(name, pairs):
    """A line of the table."""
    mean = lambda steered, at: statistics.mean(pair[steered][at] for pair in pairs)
    times, times_off = interval([pair[True][0] - pair[False][0] for pair in pairs])
    disks, disks_off = interval([100 * (pair[True][1] - pair[False][1]) for pair in pairs])
    reports = [pair[True][2] for pair in pairs]
    steered = statistics.mean(report["seconds_steered"] / report["seconds"] for report in reports)
    daemon = statistics.mean(report["cpu_seconds"] / report["seconds"] for report in reports)
    off = lambda key: statistics.mean(report["residency"][key] for report in reports)
    return (
        f"| {name} | {100 * mean(False, 1):.1f} % | {100 * mean(True, 1):.1f} % | {disks:+.1f} ± {disks_off:.1f} points "
        f"| {mean(False, 0):.2f} | {mean(True, 0):.2f} | {times:+.2f} ± {times_off:.2f} "
        f"| {100 * steered:.0f} % | {100 * daemon:.1f} % of a core | {off('missing'):.0f} missing, {off('extra'):.0f} more, of {off('held'):.0f} |"
    )


if __name__ == "__main__":
    main()
