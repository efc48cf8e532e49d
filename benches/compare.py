#!/usr/bin/env python3
"""Runs hotset beside libCacheSim's Python package on the same traces, in the same run, and prints counts and CPU seconds.

    make compare                                    # zipf(1.0), 20M requests over 1M objects
    benches/compare.py --hotset BIN --requests N --objects M --out FILE.md

Every measurement is one fresh process; CPU seconds are user + system of that process, from opening the trace to the result.
The peer is a comparator only: nothing of it is read or kept.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import textwrap
import time

import numpy as np

# hotset's name -> the peer's class; policies the peer lacks are measured alone.
PEERS = {
    "fifo": "FIFO", "lru": "LRU", "clock": "Clock", "sieve": "Sieve", "lfu": "LFU", "slru": "SLRU", "2q": "TwoQ",
    "arc": "ARC", "lirs": "LIRS", "s3-fifo": "S3FIFO", "opt": "Belady", "car": None, "mru": None, "lifo": None, "random": "Random",
}
TARGETS = {"fifo": 30, "lru": 30, "clock": 30, "sieve": 30, "arc": 15, "2q": 15, "s3-fifo": 15, "lirs": 15, "lfu": 15,
           "slru": 15, "car": 15, "opt": 6}
RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])


def processor():
    """Its name."""
    return next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())


def zipf(requests, objects, seed=42):
    """Ids by exact inversion of Zipf(1.0), scattered so that popularity and id are unrelated."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(1.0 / np.arange(1, objects + 1))
    scatter = rng.permutation(objects).astype(np.uint64)
    ids = np.empty(requests, dtype=np.uint64)
    for start in range(0, requests, 1 << 20):
        end = min(requests, start + (1 << 20))
        ids[start:end] = scatter[np.searchsorted(cumulative, rng.random(end - start) * cumulative[-1])]
    return ids


def write_oracle_general(ids, path):
    """The peer's 24-byte records, with the next access that its Belady needs."""
    records = np.empty(len(ids), dtype=RECORD)
    records["time"] = np.arange(len(ids)) // 1000
    records["id"], records["size"] = ids, 1
    order = np.lexsort((np.arange(len(ids)), ids))
    following = np.full(len(ids), -1, dtype=np.int64)
    same = ids[order][1:] == ids[order][:-1]
    following[order[:-1][same]] = order[1:][same]
    records["next"] = following
    records.tofile(path)


def measured(command):
    """Runs a command; returns its output, CPU seconds, wall seconds and peak MB."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode()
    if process.returncode != 0:
        return None
    return text, usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss / 1024


PEER = textwrap.dedent("""
    import sys, libcachesim as peer
    path, sizes, call = sys.argv[1], [int(s) for s in sys.argv[2].split(",")], sys.argv[3]
    # "MQ" or "MQ:lifetime": options named after the colon get the size.
    name, _, options = call.partition(":")
    def reader():
        options = peer.ReaderInitParam(ignore_obj_size=True)
        return peer.TraceReader(path, peer.TraceType.ORACLE_GENERAL_TRACE, options)
    for size in sizes:
        source = reader()
        if name == "nothing":
            break
        sized = {option: size for option in options.split(",") if option}
        miss_ratio, _ = getattr(peer, name)(size, **sized).process_trace(source)
        print(repr(miss_ratio), flush=True)
""")


def peer_run(trace, sizes, name):
    return measured([sys.executable, "-c", PEER, trace, ",".join(map(str, sizes)), name])


def hotset_run(hotset, trace, sizes, policy):
    os.environ["RAYON_NUM_THREADS"] = "1"
    command = [hotset, "simulate", trace, "--policy", policy, "--size", ",".join(map(str, sizes)) + " blocks", "--json", "-"]
    done = measured(command)
    if done is None:
        return None
    rows = [json.loads(line) for line in done[0].splitlines()]
    return rows, *done[1:]


def compare(args, trace, requests, footprint, lines):
    one = max(1, footprint * args.percent // 100)
    grid = [max(1, footprint * step // 20) for step in range(1, 21)]
    start_up = peer_run(trace, [1], "nothing")[1]
    lines += [f"Peer start-up of {start_up:.2f} s is subtracted from its figures.", "",
              f"| policy | hits ({args.percent} % of footprint) | peer's hits | hotset: read + renumber + 1 cell, CPU s | peer, CPU s | ratio |"
              " hotset: each further cell, CPU s | M ref/s | ratio | target |", "|" + "---|" * 10]
    for policy, peer in PEERS.items():
        if args.policies and policy not in args.policies:
            continue
        single = hotset_run(args.hotset, trace, [one], policy)
        if single is None:
            lines.append(f"| {policy} | not built | | | | | | | | |")
            continue
        many = hotset_run(args.hotset, trace, grid, policy)
        further = (many[1] - single[1]) / (len(grid) - 1)
        hits = single[0][0]["hits"]
        other = peer_run(trace, [one], peer) if peer else None
        if other:
            peer_cpu = other[1] - start_up
            peer_hits = round((1 - float(other[0])) * requests)
            ratios = f"{peer_cpu:.2f} | {peer_cpu / single[1]:.1f}× | {further:.3f} | {requests / further / 1e6:.0f} | {peer_cpu / further:.0f}×"
        else:
            peer_hits = "–"
            ratios = f"– | – | {further:.3f} | {requests / further / 1e6:.0f} | –"
        lines.append(f"| {policy} | {hits:,} | {peer_hits if peer_hits == '–' else format(peer_hits, ',')} | {single[1]:.2f} | {ratios} | {TARGETS.get(policy, '–')}× |")
        print(lines[-1], flush=True)
    if args.memory:
        mine = hotset_run(args.hotset, trace, grid, "s3-fifo")
        theirs = peer_run(trace, grid, "S3FIFO")
        lines += ["", f"20 sizes of S3-FIFO: hotset {mine[1]:.1f} CPU s, peak {mine[3]:.0f} MB; peer (one cache after the other) "
                      f"{theirs[1]:.1f} CPU s, peak {theirs[3]:.0f} MB."]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hotset", default="target/release/hotset")
    parser.add_argument("--requests", type=int, default=20_000_000)
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--policies", type=lambda text: text.split(","))
    parser.add_argument("--percent", type=int, default=10, help="size of the single cell, in percent of the footprint")
    parser.add_argument("--memory", action="store_true", help="also the 20-size S3-FIFO grid of both")
    parser.add_argument("--out", help="Markdown file for the results")
    args = parser.parse_args()
    import importlib.metadata
    version = subprocess.run([args.hotset, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    cpu = processor()
    lines = [f"# {version} beside libcachesim {importlib.metadata.version('libcachesim')} (Python package, `process_trace`)", "",
             f"zipf(1.0), {args.requests:,} requests over {args.objects:,} objects, oracle-general, sizes ignored. "
             f"{cpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d')}; "
             f"command: `{' '.join(sys.argv)}`; hotset on one thread.", ""]
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "zipf.oracleGeneral.bin")
        ids = zipf(args.requests, args.objects)
        footprint = len(np.unique(ids))
        write_oracle_general(ids, trace)
        del ids
        compare(args, trace, args.requests, footprint, lines)
    text = "\n".join(lines) + "\n"
    if args.out:
        os.makedirs(os.path.dirname(args.out) or ".", exist_ok=True)
        with open(args.out, "w") as out:
            out.write(text)
    print(text)


if __name__ == "__main__":
    main()
