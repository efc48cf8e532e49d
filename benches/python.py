#!/usr/bin/env python3
"""Measures the Python package beside libCacheSim's, cachetools and functools.lru_cache, in the same run, and prints tables.

    pip install target/wheels/hotset-*.whl libcachesim cachetools numpy
    benches/python.py --wheel target/wheels/hotset-*.whl --out FILE.md

Traces are of zipf(1.0) over so many objects. Times are those of the wall: use a machine at rest. Of rounds, which take turns, the
fastest is told, which the rest of the machine has disturbed least; simulations and imports are fresh processes. A peer that is not
there is left out.
"""

import argparse
import functools
import gc
import importlib.metadata
import importlib.util
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from compare import processor, write_oracle_general, zipf

import hotset

HAS = {name: importlib.util.find_spec(name) is not None for name in ("libcachesim", "cachetools")}


def seconds(work):
    """Of one call, without clearing its results."""
    gc.collect()
    gc.disable()
    begin = time.perf_counter()
    work()
    took = time.perf_counter() - begin
    gc.enable()
    return took


def fastest(ways, rounds):
    """Seconds of each of these calls; they take turns."""
    told = {name: [] for name in ways}
    for _ in range(rounds):
        for name, work in ways.items():
            told[name].append(seconds(work()))
    return {name: min(times) for name, times in told.items()}


SIMULATE = {
    "hotset": """
import hotset, sys, time
path, policy, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
begin = time.perf_counter()
(row,) = hotset.simulate(path, policy, size, threads=1, block="object")
print(time.perf_counter() - begin, row["hits"])
""",
    "libcachesim": """
import libcachesim as peer, sys, time
path, policy, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
begin = time.perf_counter()
reader = peer.TraceReader(path, peer.TraceType.ORACLE_GENERAL_TRACE, peer.ReaderInitParam(ignore_obj_size=True))
misses, _ = getattr(peer, {"lru": "LRU", "s3-fifo": "S3FIFO", "arc": "ARC", "lirs": "LIRS"}[policy])(size).process_trace(reader)
print(time.perf_counter() - begin, round((1 - misses) * int(sys.argv[4])))
""",
    "hotset, from an array": """
import hotset, numpy, sys, time
keys, policy, size = numpy.fromfile(sys.argv[1] + ".keys", numpy.uint64), sys.argv[2], int(sys.argv[3])
begin = time.perf_counter()
(row,) = hotset.simulate(keys, policy, size, threads=1)
print(time.perf_counter() - begin, row["hits"])
""",
}


def simulations(keys, size, rounds):
    """A line for each policy: seconds of each way, and whether the hits are the same."""
    lines = ["| policy | " + " | ".join(f"{name}, s" for name in SIMULATE) + " | hits |", "|" + "---|" * (len(SIMULATE) + 2)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "zipf.oracleGeneral.bin")
        write_oracle_general(keys, path)
        keys.tofile(path + ".keys")
        for policy in ("lru", "s3-fifo", "arc", "lirs"):
            best, hits = {}, set()
            for _ in range(rounds):
                for name, code in SIMULATE.items():
                    if HAS.get(name, True):
                        told = subprocess.run(
                            [sys.executable, "-c", code, path, policy, str(size), str(len(keys))],
                            capture_output=True, text=True, check=True,
                        ).stdout.split()
                        best[name] = min(best.get(name, float("inf")), float(told[-2]))
                        hits.add((name.split(",")[0], int(told[-1])))
            shown = sorted(hits)
            same = f"{shown[0][1]:,}" if len({count for _, count in hits}) == 1 else ", ".join(f"{name} {n:,}" for name, n in shown)
            lines.append(f"| {policy} | " + " | ".join(f"{best[name]:.2f}" if name in best else "–" for name in SIMULATE) + f" | {same} |")
    return lines


def each(call, arguments):
    """What calls it with each of these."""

    def work():
        for argument in arguments:
            call(argument)

    return work


def accesses(keys, size, rounds):
    """References a second, one call each."""
    keys = keys.tolist()

    def of_cachetools():
        import cachetools

        values = cachetools.LRUCache(size)

        def work():
            for key in keys:
                if key in values:
                    values[key]
                else:
                    values[key] = True

        return work

    def of_libcachesim():
        import libcachesim as peer

        get, request = peer.LRU(size).get, peer.Request(obj_size=1)

        def work():
            for key in keys:
                request.obj_id = key
                get(request)

        return work

    ours = lambda policy: lambda: each(hotset.Cache(policy, size).access, keys)
    ways = {f"hotset.Cache, {policy}": ours(policy) for policy in ("lru", "s3-fifo")}
    ways |= {"cachetools.LRUCache": of_cachetools} if HAS["cachetools"] else {}
    ways |= {"libCacheSim's LRU": of_libcachesim} if HAS["libcachesim"] else {}
    return {name: len(keys) / took for name, took in fastest(ways, rounds).items()}


def batches(keys, size, rounds):
    """References a second, a call for 65,536 of them."""
    parts = np.array_split(keys, max(1, len(keys) >> 16))

    ours = lambda policy: lambda: each(hotset.Cache(policy, size).access_many, parts)
    ways = {f"hotset.Cache.access_many, {policy}": ours(policy) for policy in ("lru", "clock", "s3-fifo", "arc", "lirs")}
    return {name: len(keys) / took for name, took in fastest(ways, rounds).items()}


def functions(keys, size, rounds):
    """Nanoseconds a call of a function whose results are kept: all of them there, and as the keys come."""
    few, keys = (keys[:100].tolist() * (len(keys) // 100)), keys.tolist()

    def number(key):
        return key

    decorators = {"functools.lru_cache": functools.lru_cache(size)}
    decorators |= {f"hotset.cached, {policy}": hotset.cached(policy=policy, size=size) for policy in ("lru", "s3-fifo")}
    if HAS["cachetools"]:
        import cachetools

        decorators["cachetools.cached, LRUCache"] = lambda function: cachetools.cached(cachetools.LRUCache(size))(function)

    def called(decorate, arguments, is_warm):
        def prepared():
            function = decorate(number)
            for key in arguments[:100] if is_warm else ():
                function(key)

            return each(function, arguments)

        return prepared

    told = {}
    for arguments, is_warm in ((few, True), (keys, False)):
        ways = {name: called(decorate, arguments, is_warm) for name, decorate in decorators.items()}
        for name, took in fastest(ways, rounds).items():
            told.setdefault(name, []).append(took / len(arguments) * 1e9)
    return told


def imports(rounds):
    """Milliseconds until a fresh process has imported it."""
    told = {}
    for _ in range(rounds):
        for name in ("hotset", "libcachesim", "cachetools", "numpy"):
            if HAS.get(name, True):
                code = f"import time; begin = time.perf_counter(); import {name}; print(time.perf_counter() - begin)"
                done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
                told.setdefault(name, []).append(float(done.stdout) * 1e3)
    return {name: statistics.median(times) for name, times in told.items()}


def installed(name):
    """Megabytes of its files."""
    files = importlib.metadata.files(name) or []
    return sum(os.path.getsize(file.locate()) for file in files if os.path.exists(file.locate())) / 1e6


def report(args):
    keys = zipf(args.requests, args.objects)
    size = len(np.unique(keys)) // 10
    few = keys[: args.requests // 10]
    cpu = processor()
    peers = ", ".join(f"{name} {importlib.metadata.version(name)}" for name, is_there in HAS.items() if is_there)
    yield f"# hotset {hotset.__version__} for Python beside {peers or 'nothing else'}"
    yield ""
    yield (
        f"`benches/python.py`: zipf(1.0), {len(keys):,} requests over {args.objects:,} objects, caches of {size:,}; loops over the first "
        f"{len(few):,}. CPython {platform.python_version()}, {cpu}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the start, "
        f"{time.strftime('%Y-%m-%d')}. Seconds of the wall, the fastest of {args.rounds} rounds."
    )
    yield from ("", "A simulation on one thread, from opening the trace (oracleGeneral, or an array) to the result:", "")
    yield from simulations(keys, size, args.rounds)
    yield from ("", "| a call for each reference | million references a second |", "|---|---|")
    yield from (f"| {name} | {rate / 1e6:.2f} |" for name, rate in accesses(few, size, args.rounds).items())
    yield from ("", "| a call for 65,536 references | million references a second |", "|---|---|")
    yield from (f"| {name} | {rate / 1e6:.1f} |" for name, rate in batches(keys, size, args.rounds).items())
    yield from ("", "| a function whose results are kept | ns a call, all kept | ns a call, as keys come |", "|---|---|---|")
    yield from (f"| {name} | {kept:.0f} | {mixed:.0f} |" for name, (kept, mixed) in functions(few, size, args.rounds).items())
    wheel = f"The wheel has {os.path.getsize(args.wheel) / 1e6:.1f} MB. " if args.wheel else ""
    shown = [name for name in ("hotset", "libcachesim", "cachetools", "numpy") if HAS.get(name, True)]
    sizes = ", ".join(f"{name} {installed(name):.1f} MB" for name in shown)
    times = ", ".join(f"{name} {took:.0f} ms" for name, took in imports(11).items())
    yield from ("", f"{wheel}Installed: {sizes}. Imported (median of 11): {times}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000_000)
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wheel", help="the wheel, to tell how large it is")
    parser.add_argument("--out", help="Markdown file for the results")
    args = parser.parse_args()
    lines = []
    for line in report(args):
        lines.append(line)
        print(line, flush=True)
    if args.out:
        with open(args.out, "w") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
