#!/usr/bin/env python3
"""The kernel's page cache beside the policy `linux`, which is its model, and `lru`: misses of references to pages of one file.

    benches/page_cache.py --hotset BIN [--memory 64] [--folder DIR]     # needs root and the memory controller of control groups

A process in a control group of so many MiB reads the file page by page, without read-ahead, and asks before each read whether the page is in memory
(mincore(2)). The policies replay the same references with as many pages as the group held in the end. The file lies in DIR, which must be on a disk: a
file system in memory has no page cache. Where the kernel has a multi-generational LRU switched on, that is what is measured, and the output says so.
"""

import argparse
import bisect
import ctypes
import itertools
import json
import mmap
import os
import random
import subprocess
import sys
import tempfile

PAGE = 4096
GENERATIONS = "/sys/kernel/mm/lru_gen/enabled"


class Group:
    """A control group with a limit of memory, of either version."""

    def __init__(self, limit):
        version_1 = "/sys/fs/cgroup/memory"
        self.is_old = os.path.exists(f"{version_1}/memory.limit_in_bytes")
        self.path = os.path.join(version_1 if self.is_old else "/sys/fs/cgroup", f"hotset-page-cache-{os.getpid()}")
        os.mkdir(self.path)
        self.write("memory.limit_in_bytes" if self.is_old else "memory.max", limit)

    def write(self, name, value):
        with open(os.path.join(self.path, name), "w") as file:
            file.write(str(value))

    def cached_pages(self):
        with open(os.path.join(self.path, "memory.stat")) as file:
            figures = dict(line.split() for line in file)
        return int(figures["cache" if self.is_old else "file"]) // PAGE

    def remove(self):
        if self.is_old:
            self.write("memory.force_empty", 0)
        os.rmdir(self.path)


def references(memory):
    """Workloads by name: pages of a file that is four times as long as memory."""
    pages, file = memory * 2**20 // PAGE, 4 * memory * 2**20 // PAGE
    draw = random.Random(1)
    weights = list(itertools.accumulate(1 / (rank + 1) ** 0.9 for rank in range(file)))
    ranks = list(range(file))
    draw.shuffle(ranks)
    hot = pages // 2
    return {
        "Zipf (0.9) over four times the memory": [
            ranks[bisect.bisect(weights, draw.random() * weights[-1])] for _ in range(12 * pages)
        ],
        "a loop over 1.25 times the memory": [at % (pages * 5 // 4) for at in range(8 * pages)],
        "a scan beside a hot set of half the memory": [
            draw.randrange(hot) if at % 2 else hot + at // 2 % (file - hot) for at in range(12 * pages)
        ],
    }


def read(path, pages, misses):
    """Reads the pages and notes which were not there."""
    file = os.open(path, os.O_RDWR)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    mapped = mmap.mmap(file, os.fstat(file).st_size)
    start = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    mincore = ctypes.CDLL(None).mincore
    mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    is_there, buffer = ctypes.c_ubyte(), [bytearray(PAGE)]
    for at, page in enumerate(pages):
        mincore(start + page * PAGE, PAGE, ctypes.addressof(is_there))
        misses[at] = 1 - (is_there.value & 1)
        os.preadv(file, buffer, page * PAGE)


def kernel(path, pages, memory):
    """Misses of the kernel, and how many pages it had in the end."""
    group = Group(memory * 2**20)
    misses = mmap.mmap(-1, len(pages))
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        group.write("cgroup.procs", os.getpid())
        read(path, pages, misses)
        os.write(tell, str(group.cached_pages()).encode())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit("page_cache: the reading process failed")
    held = int(os.read(told, 32))
    group.remove()
    return sum(misses[:]), held


def simulated(hotset, pages, held):
    """Misses by policy."""
    with tempfile.NamedTemporaryFile("w", suffix=".ids") as file:
        file.writelines(f"{page}\n" for page in pages)
        file.flush()
        command = [hotset, "simulate", f"ids:{file.name}", "-p", "linux,lru", "-s", str(held), "--json", "-"]
        rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {row["policy"]: row["misses"] for row in map(json.loads, rows.splitlines())}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hotset", default="target/release/hotset")
    arguments.add_argument("--memory", type=int, default=64, help="MiB of the control group")
    arguments.add_argument("--folder", default=".", help="where the file is made")
    given = arguments.parse_args()
    generations = open(GENERATIONS).read().strip() if os.path.exists(GENERATIONS) else "not built in"
    print(f"Linux {os.uname().release}, multi-generational LRU: {generations}; {given.memory} MiB\n")
    print("| references | kernel | `linux` | `lru` |\n|---|---|---|---|")
    with tempfile.NamedTemporaryFile(dir=given.folder) as file:
        for _ in range(4 * given.memory):
            file.write(os.urandom(2**20))
        file.flush()
        os.fsync(file.fileno())
        for name, pages in references(given.memory).items():
            missed, held = kernel(file.name, pages, given.memory)
            by_policy = simulated(given.hotset, pages, held)
            shares = [f"{100 * count / len(pages):.2f} %" for count in (missed, by_policy["linux"], by_policy["lru"])]
            print(f"| {name} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
