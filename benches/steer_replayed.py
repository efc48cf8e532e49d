#!/usr/bin/env python3
"""The misses of a policy that steers, and those of the simulator for a recording of the same reads.

    benches/steer_replayed.py --hotset target/release/hotset --folder DIR [--policies lirs,lru,s3-fifo] [--memory 128]

A program reads a file in blocks of 64 KiB, in a control group, without the kernel reading ahead; `hotset steer` (always, every read heard) and `hotset record
--via bpf` follow it at once. Then the recording is replayed under the same policy with the same memory. `read` is what came into the page cache. Counts say
little about time, so the machine may be busy. Needs root, control groups with memory, the kernel's events, and DIR on a disk.
"""

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from group import Group
from steer import READER, forget

BLOCK = 64 << 10
# Added to the policy's size: a margin for pages that are dropped a little later.
SPARE = 72 << 20


def plans(fit):
    """Blocks in the order in which they are read, by name, for a cache of so many."""
    draw, span, hot, wide = random.Random(1), int(fit * 1.7), int(fit * 0.42), int(fit * 2.4)
    weights = list(itertools.accumulate(1 / (rank + 1) ** 0.9 for rank in range(wide)))
    places = draw.sample(range(wide), wide)
    return {
        "loop": [at % span for at in range(5 * span)],
        "hot set beside a scan": [draw.randrange(hot) if at % 2 else hot + at // 2 % (span - hot) for at in range(6 * span)],
        "zipf 0.9": [places[rank] for rank in draw.choices(range(wide), cum_weights=weights, k=8 * fit)],
    }


def follow(args, place, plan, policy):
    """Has the blocks read; what `steer` reports of it. The recording is then in `place`."""
    file, trace, report = place / "data" / "file", place / "trace.hst", place / "report"
    plan_file = place / "plan"
    plan_file.write_text(json.dumps(plan))
    trace.unlink(missing_ok=True)
    forget(file.parent)
    group = Group((args.memory << 20) + SPARE)
    steer = ["steer", file.parent, "--cgroup", group.path, "--policy", policy, "--block", BLOCK, "--memory", f"{args.memory}M"]
    commands = [["record", "--via", "bpf", "--cgroup", group.path, "-o", trace], [*steer, "--always", "--exact", "--json", report]]
    running = [subprocess.Popen([args.hotset, *map(str, command)], stderr=subprocess.PIPE, text=True) for command in commands]
    first = running[1].stderr.readline()
    if "watching" not in first:
        sys.exit(f"steer: {first}{running[1].stderr.read()}")
    time.sleep(2)
    subprocess.run([sys.executable, "-c", READER, str(file), str(plan_file), "random"], check=True, stdout=subprocess.DEVNULL, preexec_fn=group.enter)
    time.sleep(0.5)
    for command in running:
        command.send_signal(signal.SIGINT)
        command.communicate()
    group.close()
    return json.loads(report.read_text())


def replay(args, place, policy):
    """The simulator's results for the recording."""
    words = [args.hotset, "simulate", place / "trace.hst", "--file", place / "data" / "file", "--ops", "reads"]
    words += ["--policy", policy, "--size", f"{args.memory}M", "--block", BLOCK, "--json", "-"]
    return json.loads(subprocess.run(list(map(str, words)), check=True, capture_output=True).stdout)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hotset", default="target/release/hotset")
    arguments.add_argument("--folder", default=".", help="where the file is made, on a disk")
    arguments.add_argument("--memory", type=int, default=128, help="MiB of the policy")
    arguments.add_argument("--policies", default="lirs,lru,s3-fifo")
    args = arguments.parse_args()
    print("| reads | policy | blocks referenced: live | replayed | missed: live | replayed | read, in blocks |\n|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        place = Path(folder).resolve()
        (place / "data").mkdir()
        with open(place / "data" / "file", "wb") as file:
            for _ in range(int(args.memory * 2.5)):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
        for (name, plan), policy in itertools.product(plans((args.memory << 20) // BLOCK).items(), args.policies.split(",")):
            live, replayed = follow(args, place, plan, policy), replay(args, place, policy)
            counts = [live["references"], replayed["references"], live["misses"], replayed["misses"], live["pages_read"] * 4096 // BLOCK]
            print(f"| {name} | {policy} | " + " | ".join(f"{count:,}" for count in counts) + " |", flush=True)


if __name__ == "__main__":
    main()
