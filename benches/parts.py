#!/usr/bin/env python3
"""The cost of a cell of an attribute cache, compared with three plain LRU cells, on one trace, in one run.

    benches/parts.py TRACE [--hotset BIN] [--out FILE.md]

A cell's cost is what nine more sizes add to a run, by nine: CPU seconds of the process on one thread, the least of several runs, the two schemes taking
turns. Inodes and directories are references that only the attribute cache sees; the table says how many.
"""

import argparse
import json
import os
import resource
import subprocess

SIZES = "256K,640K,1216K,1280K,2304K,4352K,6272K,10368K,18560K,26624K"
ONE = "1280K"
POLICIES = ["lru", "attribute(64K/128 id,x/4K temporal,128K/64K sequential)", "attribute", "unix"]
RUNS = 7


def seconds(hotset, trace, policy, sizes):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([hotset, "simulate", trace, "--policy", policy, "--size", sizes], check=True, stdout=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def references(hotset, trace, policy):
    command = [hotset, "simulate", trace, "--policy", policy, "--size", ONE, "--json", "-"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["references"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--hotset", default="target/release/hotset")
    parser.add_argument("--out")
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = "1"
    runs = [(policy, sizes) for policy in POLICIES for sizes in (ONE, SIZES)]
    least = {}
    for _ in range(RUNS):
        for run in runs:
            least[run] = min(least.get(run, float("inf")), seconds(args.hotset, args.trace, *run))
    cell = {policy: (least[policy, SIZES] - least[policy, ONE]) / 9 for policy in POLICIES}
    lines = ["| scheme | references | read + view + one cell, CPU s | each further cell, CPU s | of three LRU cells | ns a reference |", "|---|---|---|---|---|---|"]
    for policy in POLICIES:
        count = references(args.hotset, args.trace, policy)
        lines.append(f"| `{policy}` | {count:,} | {least[policy, ONE]:.2f} | {cell[policy]:.3f} | {cell[policy] / cell['lru'] / 3:.2f} | {cell[policy] / count * 1e9:.0f} |")
    text = "\n".join(lines) + "\n"
    if args.out:
        with open(args.out, "w") as out:
            out.write(text)
    print(text)


main()
