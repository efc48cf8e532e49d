#!/usr/bin/env python3
"""What `hotset steer` costs where it gains nothing: each cached read, programs whose files fit, and an idle machine.

    benches/steer_costs.py --hotset target/release/hotset --folder DIR [--rounds 12]

Times are those of the processor, of the readers alone, so that other work on the machine matters little; rounds go through all cells in turns that begin
with another one each time, differences are means over rounds with 95 % intervals (Student). A read is `pread` of a file of 32 MiB that is all in memory, at
random places, by a program in C. Needs root, control groups with memory, a C compiler, and DIR on a disk.
"""

import argparse
import itertools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from group import Group
from steer import interval

READ = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec at; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at); return at.tv_sec * 1e6 + at.tv_nsec / 1e3; }
int main(int count, char **words) {
    int file = open(words[1], O_RDONLY);
    size_t size = atol(words[2]), pages = 8192;
    long reads = atol(words[3]);
    char *bytes = malloc(size);
    for (size_t page = 0; page < pages; page++) if (pread(file, bytes, 4096, page * 4096) < 0) return 1;
    double started = now();
    unsigned draw = 1;
    for (long done = 0; done < reads; done++) {
        draw = draw * 1664525u + 1013904223u;
        if (pread(file, bytes, size, (draw >> 8) % (pages - size / 4096 + 1) * 4096) != (ssize_t)size) return 2;
    }
    printf("%.4f\n", (now() - started) / reads);
}
"""
# Seconds after which who only watches has stopped listening to reads, since nothing was missed.
ATTENTIVE = 2
HASH = """
import hashlib, os, sys
file, buffer = os.open(sys.argv[1], 0), [bytearray(65536)]
for at in 12 * list(range(0, 32 << 20, 65536)):
    os.preadv(file, buffer, at)
    hashlib.sha256(buffer[0]).digest()
"""


def with_interval(differences):
    """Mean and half of its interval, in words."""
    mean, off = interval(differences)
    return f"{mean:+.2f} ± {off:.2f}"


class Costs:
    def __init__(self, args, folder):
        self.args, self.folder = args, Path(folder)
        self.group, self.other = Group(256 << 20, "-read"), Group(256 << 20, "-other")
        for name in ("mine", "theirs", "small", "unwatched", "sources", "at"):
            (self.folder / name).mkdir()
        for name in ("mine", "theirs"):
            (self.folder / name / "file").write_bytes(os.urandom(32 << 20))
        for name, number in itertools.product(("small", "unwatched"), range(10_000)):
            (self.folder / name / str(number)).write_text("x")
        for number in range(8):
            body = "\n".join(f'int f{number}_{at}(int x) {{ return printf("%d", x * {at}); }}' for at in range(200))
            (self.folder / "sources" / f"{number}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n{body}\n")
        os.sync()

    def start(self, *words):
        """The command, once it has said that it works."""
        command = subprocess.Popen([self.args.hotset, *map(str, words)], stderr=subprocess.PIPE, text=True)
        said = command.stderr.readline()
        if "watching" not in said and "served" not in said:
            sys.exit(said + command.stderr.read())
        return command

    def steer(self, name, *options, group=None):
        return self.start("steer", self.folder / name, "--cgroup", (group or self.group).path, "--policy", "lirs", *options)

    def end(self, command):
        command.send_signal(signal.SIGTERM)
        command.communicate()

    def idle(self, seconds=60):
        """Processor time of what has nothing to do."""
        running = {
            "`steer`, a file": self.steer("mine"),
            "`steer --always`, 10,000 files": self.steer("small", "--always", group=self.other),
            "`mount --mode steered`": self.start("mount", self.folder / "theirs", self.folder / "at", "--mode", "steered", "--policy", "lirs", "--memory", "64M"),
        }
        (self.folder / "at" / "file").read_bytes()
        time.sleep(8)
        used = lambda pid: sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
        before = {name: used(command.pid) for name, command in running.items()}
        time.sleep(seconds)
        for name, command in running.items():
            yield f"| {name} | {100 * (used(command.pid) - before[name]) / seconds:.2f} % of a core |"
        for command in running.values():
            self.end(command)

    def reads(self):
        """Microseconds of a cached read."""
        program = self.folder / "read"
        subprocess.run(["cc", "-O2", "-x", "c", "-", "-o", program], input=READ, text=True, check=True)
        cells = {
            "not watched": None,
            "watched, nothing is missed": ["mine"],
            "other files are steered": ["theirs", "--always"],
            "steered": ["mine", "--always"],
            "steered, `--exact`": ["mine", "--always", "--exact"],
        }
        sizes = {4096: 200_000, 65536: 20_000}
        times = {(cell, size): [] for cell in cells for size in sizes}
        names = list(cells)
        for turn in range(self.args.rounds):
            for cell in names[turn % len(names) :] + names[: turn % len(names)]:
                command = self.steer(*cells[cell]) if cells[cell] else None
                time.sleep(ATTENTIVE)
                for size, reads in sizes.items():
                    words = [program, self.folder / "mine" / "file", str(size), str(reads)]
                    times[cell, size].append(float(subprocess.run(words, capture_output=True, check=True).stdout))
                if command:
                    self.end(command)
        for cell in cells:
            more = lambda size: with_interval([one - other for one, other in zip(times[cell, size], times[names[0], size])])
            shown = " | ".join(f"{statistics.median(times[cell, size]):.2f} µs | {more(size) if cells[cell] else ''}" for size in sizes)
            yield f"| {cell} | {shown} |"

    def took(self, command):
        """Seconds of processor that a command takes."""
        child = subprocess.Popen(command, preexec_fn=self.group.enter, stdout=subprocess.DEVNULL)
        usage = os.wait4(child.pid, 0)[2]
        child.returncode = 0
        return usage.ru_utime + usage.ru_stime

    def tiny(self, pairs=150):
        """Grep over tiny files, watched and unwatched in turns, so that other work of the machine weighs on both alike."""
        for name, folder in {"neither is watched": None, "one is watched": "small"}.items():
            steer = self.steer(folder) if folder else None
            time.sleep(ATTENTIVE)
            more = []
            for turn in range(-5, pairs):
                names = ("small", "unwatched") if turn % 2 else ("unwatched", "small")
                times = {name: self.took(["grep", "-rc", "zzz", self.folder / name]) for name in names}
                if turn >= 0:
                    more.append(100 * (times["small"] / times["unwatched"] - 1))
            if steer:
                self.end(steer)
            yield f"| {name} | {with_interval(more)} % | {statistics.median(more):+.2f} % |"

    def programs(self):
        """Seconds of programs whose files fit."""
        sources = f"cd {self.folder}/sources; for file in *.c; do gcc -O1 -c $file -o ${{file%.c}}.o; done"
        jobs = {
            "hashing 32 MiB twelve times": ("mine", [sys.executable, "-c", HASH, str(self.folder / "mine" / "file")]),
            "gcc over 8 files": ("sources", ["sh", "-c", sources]),
            "grep four times over 10,000 files of a byte": ("small", ["sh", "-c", f"for pass in 1 2 3 4; do grep -rc zzz {self.folder}/small >/dev/null; done; true"]),
        }

        for (name, (folder, command)), (when, wait) in itertools.product(jobs.items(), {"from its first moment on": 0, "later": ATTENTIVE}.items()):
            self.took(command)
            times = {False: [], True: []}
            for turn in range(self.args.rounds):
                for watched in ((False, True), (True, False))[turn % 2]:
                    steer = self.steer(folder) if watched else None
                    time.sleep(wait)
                    times[watched].append(self.took(command))
                    if steer:
                        self.end(steer)
            more = with_interval([100 * (one / other - 1) for one, other in zip(times[True], times[False])])
            yield f"| {name} | {when} | {statistics.mean(times[False]):.3f} s | {statistics.mean(times[True]):.3f} s | {more} % |"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hotset", default="target/release/hotset")
    arguments.add_argument("--folder", default=".")
    arguments.add_argument("--rounds", type=int, default=12)
    args = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        costs = Costs(args, folder)
        print("| idle for a minute | |\n|---|---|", *costs.idle(), sep="\n", flush=True)
        print("\n| a cached read | 4 KiB | more | 64 KiB | more |\n|---|---|---|---|---|", *costs.reads(), sep="\n", flush=True)
        print("\n| grep over 10,000 tiny files, for 10,000 others | mean | median |\n|---|---|---|", *costs.tiny(), sep="\n", flush=True)
        print("\n| nothing to gain | watched | alone | watched | more |\n|---|---|---|---|---|", *costs.programs(), sep="\n", flush=True)
        costs.group.close()
        costs.other.close()


if __name__ == "__main__":
    main()
