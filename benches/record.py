#!/usr/bin/env python3
"""What recording costs: the same work alone, under strace, by BPF, and by BPF with the page cache, one right after the other, in turns which comes first.

    benches/record.py --hotset target/release/hotset [--rounds 5] [--work build,postgres] [--out FILE]

build: 60 small C files compiled by make -j2, and linked. postgres: a new cluster with little shared_buffers, pgbench -S (one client, a fixed count of
transactions); by strace the server is started under it, by BPF the recording is attached to the server that runs. Times are of the work alone: from its start to
its end, without what hotset does before and after. Seconds, and the ratio to the work alone (mean of rounds with a 95 % interval, Student). Needs root, strace, a C compiler, make; for postgres initdb, pg_ctl and pgbench on PATH.
"""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from steer import interval

HOW = {"strace": ["--via", "strace"], "bpf": ["--via", "bpf"], "page-cache": ["--via", "bpf", "--page-cache"]}
WAYS = ["alone", *HOW]
OWNER = 65534


def make_sources(folder):
    names = [f"part{number}" for number in range(60)]
    for name in names:
        Path(folder, f"{name}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint {name}(int x) {{ return x + {len(name)}; }}\n")
    Path(folder, "main.c").write_text("int part0(int); int main(void) { return part0(-5); }\n")
    objects = " ".join(f"{name}.o" for name in [*names, "main"])
    Path(folder, "Makefile").write_text(f"program: {objects}\n\tcc -o program {objects}\n")


def build(hotset, way, scratch):
    folder = tempfile.mkdtemp(dir=scratch)
    make_sources(folder)
    command = ["make", "-j2", "-s", "program"]
    took = Path(folder, "took")
    timed = ["sh", "-c", 's=$(date +%s.%N); "$@"; e=$(date +%s.%N); echo "$s $e" > took', "sh", *command]
    if way != "alone":
        timed = [hotset, "record", *HOW[way], "-o", str(Path(scratch, "build.hst")), "--", *timed]
    subprocess.run(timed, cwd=folder, check=True, capture_output=True)
    begun, ended = map(float, took.read_text().split())
    return ended - begun


def as_owner(command):
    return ["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups", *command]


def new_cluster(scratch):
    data = Path(scratch, "data")
    os.chown(scratch, OWNER, OWNER)
    os.chmod(scratch, 0o755)
    run = lambda *command: subprocess.run(as_owner(command), check=True, capture_output=True, cwd=scratch)
    run("initdb", "-D", str(data), "-A", "trust", "-U", "postgres")
    with open(data / "postgresql.conf", "a") as settings:
        settings.write(f"listen_addresses = ''\nunix_socket_directories = '{scratch}'\nshared_buffers = 4MB\nfsync = off\n")
    return data


def postgres(hotset, way, scratch, data, transactions):
    server = as_owner(["postgres", "-D", str(data)])
    trace = str(Path(scratch, "postgres.hst"))
    if way == "strace":
        server = [hotset, "record", "--via", "strace", "-o", trace, "--", *server]
    running = subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bench = lambda *args: subprocess.run(["pgbench", "-h", scratch, "-U", "postgres", *args, "postgres"], check=True, capture_output=True)
    while subprocess.run(["pg_isready", "-h", scratch], capture_output=True).returncode != 0:
        time.sleep(0.05)
    recorder = None
    if way in ("bpf", "page-cache"):
        pid = Path(data, "postmaster.pid").read_text().split()[0]
        Path(trace).unlink(missing_ok=True)
        recorder = subprocess.Popen([hotset, "record", *HOW[way], "--pid", pid, "-o", trace], stderr=subprocess.PIPE, text=True)
        # It begins its file when it is attached.
        while not Path(trace).exists() and recorder.poll() is None:
            time.sleep(0.05)
    started = time.monotonic()
    bench("-S", "-n", "-c", "1", "-t", str(transactions))
    seconds = time.monotonic() - started
    if recorder:
        recorder.send_signal(signal.SIGINT)
        told = recorder.communicate()[1]
        assert recorder.returncode == 0, told
    os.kill(int(Path(data, "postmaster.pid").read_text().split()[0]), signal.SIGINT)
    running.wait()
    return seconds


def measure(name, rounds, once):
    seconds = {way: [] for way in WAYS}
    once("alone")
    for number in range(rounds):
        for way in WAYS[number % len(WAYS) :] + WAYS[: number % len(WAYS)]:
            seconds[way].append(once(way))
    rows = []
    for way in WAYS:
        ratio, spread = interval([mine / alone for mine, alone in zip(seconds[way], seconds["alone"])])
        rows.append({"work": name, "way": way, "seconds": seconds[way], "ratio": ratio, "interval": spread})
        print(f"{name:10} {way:10} {statistics.mean(seconds[way]):8.2f} s   {ratio:5.2f} ± {spread:.2f} times", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hotset", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--transactions", type=int, default=20000)
    parser.add_argument("--work", default="build,postgres")
    parser.add_argument("--out")
    options = parser.parse_args()
    hotset = str(Path(options.hotset).resolve())
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        if "build" in options.work:
            rows += measure("build", options.rounds, lambda way: build(hotset, way, scratch))
    with tempfile.TemporaryDirectory() as scratch:
        if "postgres" in options.work:
            data = new_cluster(scratch)
            server = subprocess.Popen(as_owner(["postgres", "-D", str(data)]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while subprocess.run(["pg_isready", "-h", scratch], capture_output=True).returncode != 0:
                time.sleep(0.05)
            subprocess.run(["pgbench", "-h", scratch, "-U", "postgres", "-i", "-q", "-s", "5", "postgres"], check=True, capture_output=True)
            server.send_signal(signal.SIGINT)
            server.wait()
            once = lambda way: postgres(hotset, way, scratch, data, options.transactions)
            rows += measure("postgres", options.rounds, once)
    if options.out:
        told = {"kernel": platform.release(), "processors": os.cpu_count(), "rows": rows}
        Path(options.out).write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
