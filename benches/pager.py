#!/usr/bin/env python3
"""Programs in numpy under `hotset run`, beside the kernel's swap: seconds of the loop, pages read from the device, pages written to it.

Each program fills arrays of SIZE MiB and then works on them; only the work is timed. `memory` runs it without a limit. `swap` runs it in a control group
(version 1) with a swap file, and with OVERHEAD more for the interpreter, whose pages `hotset run` does not limit: that needs root, and is left out
otherwise. Modes take turns, ROUNDS times; the table has medians. The result of every program must be the same in all
modes.

  python3 benches/pager.py --hotset target/release/hotset --python PYTHON-WITH-NUMPY [--size 256] [--shares 0.7] [--out FILE.jsonl]
"""

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

GROUP = Path("/sys/fs/cgroup/memory/hotset-bench-pager")
OVERHEAD = 30
POLICIES = ["clock", "eta", "apr"]


def sweep(np, words):
    a = np.ones(words)
    yield
    yield sum(float(a.sum()) for _ in range(8))


def lu(np, words):
    n = int(words**0.5)
    a = np.random.default_rng(1).random((n, n))
    b = 256
    yield
    for k in range(0, n, b):
        e = min(k + b, n)
        p = a[k:e, k:e]
        for j in range(e - k):
            p[j, j] += n
            p[j + 1 :, j] /= p[j, j]
            p[j + 1 :, j + 1 :] -= np.outer(p[j + 1 :, j], p[j, j + 1 :])
        if e < n:
            lower, upper = np.tril(p, -1) + np.eye(e - k), np.triu(p)
            a[k:e, e:] = np.linalg.solve(lower, a[k:e, e:])
            a[e:, k:e] = np.linalg.solve(upper.T, a[e:, k:e].T).T
            for i in range(e, n, b):
                a[i : i + b, e:] -= a[i : i + b, k:e] @ a[k:e, e:]
    yield float(np.abs(np.diag(a)).sum())


def sort(np, words):
    a = np.random.default_rng(1).random(words)
    yield
    a.sort()
    yield float(a[::4096].sum())


def kmeans(np, words):
    d = 16
    a = np.random.default_rng(1).random((words // d, d))
    c = a[:8].copy()
    yield
    for _ in range(6):
        sums, counts = np.zeros_like(c), np.zeros(8)
        for i in range(0, len(a), 8192):
            x = a[i : i + 8192]
            nearest = ((x[:, None, :] - c[None]) ** 2).sum(2).argmin(1)
            for k in range(8):
                members = x[nearest == k]
                sums[k] += members.sum(0)
                counts[k] += len(members)
        c = sums / counts[:, None]
    yield float(c.sum())


def fft(np, words):
    """A transform in two dimensions, one row or 64 columns at a time."""
    n = int((words // 2) ** 0.5)
    a = np.random.default_rng(1).random((n, n)).astype(complex)
    yield
    for i in range(n):
        a[i] = np.fft.fft(a[i])
    for i in range(0, n, 64):
        a[:, i : i + 64] = np.fft.fft(a[:, i : i + 64], axis=0)
    yield float(np.abs(a[:: n // 64]).sum())


def stencil(np, words):
    """Six rounds of Jacobi between two grids, 64 rows at a time."""
    n = int((words // 2) ** 0.5)
    a, b = np.zeros((n, n)), np.zeros((n, n))
    a[0] = b[0] = 1
    yield
    for _ in range(6):
        for i in range(1, n - 1, 64):
            e = min(i + 64, n - 1)
            b[i:e, 1:-1] = 0.25 * (a[i - 1 : e - 1, 1:-1] + a[i + 1 : e + 1, 1:-1] + a[i:e, :-2] + a[i:e, 2:])
        a, b = b, a
    yield float(a.sum())


def join(np, words):
    """A table of hashes with half of the memory, filled and then probed by a stream of keys in parts."""
    slots = words // 2
    keys = np.random.default_rng(1).integers(0, 1 << 40, words // 2)
    table = np.zeros(slots, dtype=np.int64)
    yield
    found = 0
    for i in range(0, len(keys), 65536):
        part = keys[i : i + 65536]
        table[(part * 0x9E3779B1) % slots] = part
    for i in range(0, len(keys), 65536):
        part = keys[i : i + 65536]
        found += int((table[(part * 0x9E3779B1) % slots] == part).sum())
    yield float(found)


PROGRAMS = {f.__name__: f for f in (sweep, lu, sort, kmeans, fft, stencil, join)}


def device_reads():
    """Pages that this process has read from devices."""
    return int(re.search(r"^read_bytes: (\d+)", Path("/proc/self/io").read_text(), re.MULTILINE).group(1)) // 4096


def program(name, mib):
    import numpy

    steps = PROGRAMS[name](numpy, mib << 17)
    next(steps)
    started, before = time.perf_counter(), device_reads()
    result = next(steps)
    print(json.dumps({"seconds": time.perf_counter() - started, "reads": device_reads() - before, "result": f"{result:.9g}"}))


def swapped_out():
    return int(re.search(r"^pswpout (\d+)", Path("/proc/vmstat").read_text(), re.MULTILINE).group(1))


def number(words, err):
    found = re.search(rf"([\d,]+) {words}", err)
    return int(found.group(1).replace(",", "")) if found else 0


def measure(args, name, share, mode):
    limit = int(args.size * share)
    command = [args.python, __file__, "--program", name, "--size", str(args.size)]
    if mode == "swap":
        (GROUP / "memory.limit_in_bytes").write_text(str((limit + OVERHEAD) << 20))
        command = ["sh", "-c", f'echo $$ > {GROUP}/cgroup.procs; exec "$@"', "sh", *command]
    elif mode != "memory":
        command = [args.hotset, "run", "--memory", f"{limit}M", "--swap", args.swap, *mode.split(), "--", *command]
    before = swapped_out()
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=args.timeout)
    if mode == "swap" and ran.returncode == -9:
        # The kernel found nothing to reclaim in time.
        return {"program": name, "share": share, "mode": mode}
    if ran.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {ran.returncode}\n{ran.stderr}")
    row = {"program": name, "share": share, "mode": mode, **json.loads(ran.stdout)}
    row["written"] = swapped_out() - before if mode == "swap" else number("written back", ran.stderr)
    row["summary"] = " ".join(line for line in ran.stderr.splitlines() if " faults" in line)
    return row


@contextlib.contextmanager
def swap_space(args):
    """True inside if the kernel's swap can be had."""
    file = Path(args.swap) / "hotset-bench-pager.swap"
    try:
        GROUP.mkdir()
        subprocess.run(["fallocate", "-l", f"{4 * args.size}M", file], check=True)
        file.chmod(0o600)
        subprocess.run(["mkswap", "-q", file], check=True)
        subprocess.run(["swapon", file], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no swap: {error}", file=sys.stderr)
        yield False
    else:
        try:
            yield True
        finally:
            subprocess.run(["swapoff", file], check=True)
    finally:
        file.unlink(missing_ok=True)
        if GROUP.exists():
            GROUP.rmdir()


def table(rows, modes):
    print("| program | share | " + " | ".join(modes) + " |\n|---|---:|" + "---:|" * len(modes))
    for name, share in dict.fromkeys((row["program"], row["share"]) for row in rows):
        cells = []
        for mode in modes:
            some = [row for row in rows if (row["program"], row["share"], row["mode"]) == (name, share, mode)]
            if any("seconds" not in row for row in some):
                cells.append("killed")
                continue
            middle = {key: statistics.median(row[key] for row in some) for key in ("seconds", "reads", "written")}
            cells.append(f"{middle['seconds']:.1f} ({middle['reads'] / 1000:.0f}, {middle['written'] / 1000:.0f})")
        print(f"| {name} | {share} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hotset", default="target/release/hotset")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--size", type=int, default=256, help="MiB of a program's arrays")
    parser.add_argument("--shares", default="0.7", help="memory as shares of the size")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--modes", default=",".join(["memory", "swap", *(f"--policy {policy}" for policy in POLICIES)]))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=600)
    parser.add_argument("--swap", default="/var/tmp")
    parser.add_argument("--out")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.program:
        return program(args.program, args.size)
    modes, rows = args.modes.split(","), []
    with swap_space(args) if "swap" in modes else contextlib.nullcontext(True) as can_swap:
        modes = [mode for mode in modes if can_swap or mode != "swap"]
        for _ in range(args.rounds):
            for name in args.programs.split(","):
                for share in map(float, args.shares.split(",")):
                    for mode in modes:
                        rows.append(measure(args, name, share, mode))
                        print(json.dumps(rows[-1]), file=sys.stderr)
    for name in args.programs.split(","):
        results = {row["result"] for row in rows if row["program"] == name and "result" in row}
        if len(results) != 1:
            sys.exit(f"{name}: results differ: {results}")
    if args.out:
        Path(args.out).write_text("".join(json.dumps(row) + "\n" for row in rows))
    table(rows, modes)


if __name__ == "__main__":
    main()
