#!/usr/bin/env python3
"""Misses of hotset beside those of libCacheSim's Python package in caches of bytes, on a public trace of objects of many sizes.

    make target/compare-venv && cargo build --release --package hotset
    target/compare-venv/bin/python benches/objects.py     # needs HOTSET_TRACES

Prints for each policy and size the share of requests and of bytes that miss, ours and the peer's. The peer is a comparator only.
"""

import argparse
import json
import os
import subprocess
import tempfile

import libcachesim

TRACE = "public/formats/cloudPhysicsIO.oracleGeneral.bin.zst"
PEERS = {
    "fifo": "FIFO",
    "lru": "LRU",
    "clock": "Clock",
    "sieve": "Sieve",
    "lfu": "LFU",
    "gdsf": "GDSF",
    "lhd": "LHD",
    "s3-fifo": "S3FIFO",
    "s3-fifo(fill=main)": "S3FIFO",
    "arc": "ARC",
    "2q": "TwoQ",
    "slru": "SLRU",
    "lirs": "LIRS",
    "w-tinylfu": "WTinyLFU",
    "max-size(max=32K)": "LRU",
}
# The peer admits objects below its limit, ours those up to it.
ADMISSION = {"max-size(max=32K)": lambda: libcachesim.SizeAdmissioner(size_threshold=(32 << 10) + 1)}


def ours(hotset, trace, sizes):
    """By policy: shares of requests and bytes that miss, in the order of sizes."""
    command = [hotset, "simulate", trace, "--policy", ",".join(PEERS), "--size", ",".join(f"{size}M" for size in sizes), "--json", "-"]
    shares = {}
    for line in subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines():
        row = json.loads(line)
        shares.setdefault(row["policy"], []).append((row["misses"] / row["references"], 1 - row["byte_hit_ratio"]))
    return shares


def theirs(trace, policy, peer, size):
    reader = libcachesim.TraceReader(trace=trace, trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    admission = ADMISSION[policy]() if policy in ADMISSION else None
    return getattr(libcachesim, peer)(cache_size=size << 20, admissioner=admission).process_trace(reader)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hotset", default="target/release/hotset")
    parser.add_argument("--traces", default=os.environ.get("HOTSET_TRACES", "../shared/traces"))
    parser.add_argument("--sizes", type=lambda text: [int(word) for word in text.split(",")], default=[10, 100, 1024], help="in MiB")
    args = parser.parse_args()
    print(f"misses in % of requests and of bytes: hotset, libCacheSim {libcachesim.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "t.oracleGeneral.bin")
        with open(trace, "wb") as out:
            subprocess.run(["zstd", "-dcq", os.path.join(args.traces, TRACE)], stdout=out, check=True)
        found = ours(args.hotset, trace, args.sizes)
        for policy, peer in PEERS.items():
            for size, mine in zip(args.sizes, found[policy]):
                other = theirs(trace, policy, peer, size)
                same = "equal" if all(abs(one - two) < 1e-9 for one, two in zip(mine, other)) else ""
                figures = "   ".join(f"{100 * one:6.2f} {100 * two:6.2f}" for one, two in zip(mine, other))
                print(f"{policy:18} {size:5} MiB   {figures}   {same}", flush=True)


main()
