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

# hotset's spec -> the peer's class (after a colon: its options that are set to the capacity), and why counts may differ. The reasons were
# found with the peer's documentation and by comparing it with small models on short traces.
DRAWN = "both draw at random, from other streams"
PEERS = {
    "fifo": ("FIFO", ""),
    "lru": ("LRU", ""),
    "clock": ("Clock", ""),
    "sieve": ("Sieve", ""),
    "lfu": ("LFU", ""),
    "opt": ("Belady", ""),
    "arc": ("ARC", "the peer's target is a whole number, ours is real (as the paper's)"),
    "slru": ("SLRU", "the peer has four segments, the paper two"),
    "2q": ("TwoQ", "the peer takes a block found in A1out off it before it makes room, the paper after"),
    "s3-fifo": ("S3FIFO", "while the cache fills for the first time the peer lets blocks into the main queue (of 100 blocks read in order and "
                "then 90 others, the last 50 of the first hundred still hit there; here 10 do)"),
    "lirs": ("LIRS", "the peer bounds the stack and rounds the share of HIR blocks otherwise; ours is unbounded, as the paper's"),
    "lfuda": ("LFUDA", "a hit does not raise a block's count in the peer: after 0 0 1 2 in two blocks 0 has left, here 1"),
    "lru-k": ("LRUK", "the peer forgets the uses of a block when it is evicted (0 0 1 2 1 2 0 in two blocks hits at the end there), the "
              "paper keeps them"),
    "mq(estimate=off)": ("MQ:lifetime", "ties with a ghost that is dropped as its block arrives: a few hits"),
    "mq": ("MQ", "the peer's lifetime is 10,000 references, ours is estimated, as in the paper"),
    "clock-pro": ("ClockPro", "the paper leaves the hands' details open; the peer's is far below LRU here"),
    "lecar": ("LeCaR", DRAWN),
    "cacheus": ("Cacheus", DRAWN),
    "w-tinylfu": ("WTinyLFU", "other sketch and hash functions"),
    "hyperbolic": ("Hyperbolic", DRAWN),
    "lhd": ("LHD", DRAWN + "; ages are classed otherwise"),
    "random": ("Random", DRAWN),
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
    command = [hotset, "simulate", trace, "--policy", ",".join(policies), "--size", ",".join(map(str, sizes)) + " blocks", "--json", "-"]
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
