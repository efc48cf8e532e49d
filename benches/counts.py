#!/usr/bin/env python3
"""Hit counts of hotset beside those of libCacheSim's Python package, on public traces, policy by policy.

    make counts                                   # needs HOTSET_TRACES
    benches/counts.py --hotset BIN --traces DIR --out FILE.md

Traces are rewritten in the peer's own format with all sizes 1, so that both replay the same ids. The peer is a comparator only: nothing of it
is read or kept.
"""

import argparse
import glob
import gzip
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from compare import peer_run, write_oracle_general

# hotset's spec -> the peer's class, and why counts may differ.
PEERS = {
    "fifo": ("FIFO", ""),
    "lru": ("LRU", ""),
    "clock": ("Clock", ""),
    "sieve": ("Sieve", ""),
    "lfu": ("LFU", ""),
    "opt": ("Belady", ""),
    "arc": ("ARC", "the peer's target is a whole number, ours is real (as the paper's)"),
    "slru": ("SLRU", "the peer has four segments, the paper two"),
    "2q": ("TwoQ", "the peer's queues have other bounds"),
    "s3-fifo": ("S3FIFO", "while the cache fills for the first time the peer lets blocks into the main queue"),
    "lirs": ("LIRS", "the peer bounds the stack and rounds the share of HIR blocks otherwise; ours is unbounded, as the paper's"),
    "lfuda": ("LFUDA", ""),
    "lru-k": ("LRUK", "the peer's history and ties differ from the paper's"),
    "mq": ("MQ", "the paper leaves lifetime and ghosts open"),
    "clock-pro": ("ClockPro", "the paper leaves the hands' details open"),
    "lecar": ("LeCaR", "drawn at random"),
    "cacheus": ("Cacheus", "drawn at random"),
    "w-tinylfu": ("WTinyLFU", "other sketch and window; hashing"),
    "hyperbolic": ("Hyperbolic", "sampled at random"),
    "lhd": ("LHD", "sampled at random"),
    "random": ("Random", "drawn at random"),
}


def lirs_ids(path):
    with gzip.open(path, "rt") as file:
        words = (word for line in file if "*" not in line for word in line.split())
        return np.array([int(word) for word in words], dtype=np.uint64)


def arc_ids(path):
    text = subprocess.run(["zstd", "-dc", "--long=27", path], capture_output=True, check=True).stdout.decode()
    rows = np.array([line.split()[:2] for line in text.splitlines()], dtype=np.int64)
    starts = np.repeat(rows[:, 0], rows[:, 1])
    within = np.arange(len(starts)) - np.repeat(np.cumsum(rows[:, 1]) - rows[:, 1], rows[:, 1])
    return (starts + within).astype(np.uint64)


def traces(folder):
    for path in sorted(glob.glob(f"{folder}/public/lirs/*.trace.gz")):
        yield os.path.basename(path).removesuffix(".trace.gz"), lambda path=path: lirs_ids(path)
    for name in ["OLTP", "P3", "P12"]:
        yield name, lambda name=name: arc_ids(f"{folder}/public/arc/{name}.lis.zst")


def hotset_hits(hotset, trace, policies, sizes):
    """Hits by policy, in the order of sizes."""
    command = [hotset, "simulate", trace, "--policy", ",".join(policies), "--size", ",".join(map(str, sizes)), "--json", "-"]
    rows = [json.loads(line) for line in subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()]
    hits = {}
    for row in rows:
        hits.setdefault(row["policy"], []).append(row["hits"])
    return hits


def compare(hotset, name, ids, folder):
    """Lines of the table: policy, and ours and theirs at three sizes."""
    footprint = len(np.unique(ids))
    sizes = [max(2, footprint * percent // 100) for percent in (5, 20, 50)]
    path = os.path.join(folder, "t.oracleGeneral.bin")
    write_oracle_general(ids, path)
    ours = hotset_hits(hotset, path, PEERS, sizes)
    cells = {}
    for policy, (peer, _) in PEERS.items():
        run = peer_run(path, sizes, peer)
        if run is None or len(run[0].split()) != len(sizes):
            cells[policy] = "peer failed"
            continue
        theirs = [round((1 - float(ratio)) * len(ids)) for ratio in run[0].split()]
        differences = [(mine - other) * 100 / len(ids) for mine, other in zip(ours[policy], theirs)]
        equal = ours[policy] == theirs
        cells[policy] = "equal" if equal else " / ".join(f"{difference:+.2f}" for difference in differences)
    print(name, cells, flush=True)
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hotset", default="target/release/hotset")
    parser.add_argument("--traces", default=os.environ.get("HOTSET_TRACES", "../shared/traces"))
    parser.add_argument("--only", type=lambda text: text.split(","), help="names of traces")
    parser.add_argument("--out", help="Markdown file for the results")
    args = parser.parse_args()
    version = subprocess.run([args.hotset, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    columns = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, read in traces(args.traces):
            if not args.only or name in args.only:
                columns[name] = compare(args.hotset, name, read(), folder)
    names = list(columns)
    lines = [f"# Hit counts of {version} beside libcachesim {importlib.metadata.version('libcachesim')} (Python package)", "",
             f"All sizes 1; caches of 5, 20 and 50 % of the footprint; {time.strftime('%Y-%m-%d')}; command: `{' '.join(sys.argv)}`. \"equal\" means equal hits at all three "
             "sizes; else our hit ratio less the peer's, in points.", "",
             "| policy | " + " | ".join(names) + " | why they differ |", "|" + "---|" * (len(names) + 2)]
    for policy, (_, reason) in PEERS.items():
        lines.append(f"| {policy} | " + " | ".join(columns[name][policy] for name in names) + f" | {reason} |")
    text = "\n".join(lines) + "\n"
    if args.out:
        os.makedirs(os.path.dirname(args.out) or ".", exist_ok=True)
        with open(args.out, "w") as out:
            out.write(text)
    print(text)


main()
