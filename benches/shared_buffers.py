#!/usr/bin/env python3
"""The shared buffers of PostgreSQL beside the policy `clock-sweep`, which is its model, and `clock` and `lru`: misses of references to pages of two tables.

    benches/shared_buffers.py --hotset BIN [--bin /usr/lib/postgresql/15/bin] [--memory 16]     # as root it runs the server as user postgres

A server of its own, in a folder that goes away, reads pages one by one (pg_prewarm, which takes a page through the buffers as a query does) and whole
tables (a sequential scan), and counts what it found in its buffers and what it had to read (pg_statio_user_tables). The policies replay the same
references with as many buffers as held nothing else than the two tables in the end (pg_buffercache).
"""

import argparse
import bisect
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

PAGE = 8192


class Server:
    """A server with so many MiB of shared buffers, in a folder."""

    def __init__(self, bin, folder, memory):
        self.bin, self.folder = bin, folder
        self.user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        if self.user:
            subprocess.run(["chown", "postgres", folder], check=True)
        self.run("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "postgres")
        settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c shared_buffers={memory}MB -c autovacuum=off"
        self.run("pg_ctl", "-D", f"{folder}/data", "-w", "-o", settings, "-l", f"{folder}/log", "start")

    def run(self, program, *arguments):
        subprocess.run([*self.user, f"{self.bin}/{program}", *arguments], check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def sql(self, text):
        command = [*self.user, f"{self.bin}/psql", "-h", self.folder, "-U", "postgres", "-qtA", "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=self.folder)
        if done.returncode != 0:
            sys.exit(f"shared_buffers: {done.stderr}")
        return done.stdout.strip()

    def stop(self):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def restart(self):
        self.run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-m", "fast", "-l", f"{self.folder}/log", "restart")


def tables(server, pages):
    """Two tables of one row a page: `wide` of so many pages and `hot` of half of the buffers."""
    server.sql("create extension pg_prewarm; create extension pg_buffercache;")
    for name, count in pages.items():
        server.sql(
            f"create table {name} (pad text); alter table {name} alter pad set storage plain;"
            f"insert into {name} select repeat('x', 7000) from generate_series(1, {count});"
            f"vacuum (freeze) {name}; checkpoint;"
        )
        if int(server.sql(f"select pg_relation_size('{name}') / {PAGE}")) != count:
            sys.exit("shared_buffers: a table has not a row a page")


def references(pages, buffers):
    """Steps by name: a page of a table, or a table to be scanned."""
    draw = random.Random(1)
    wide, hot = pages["wide"], pages["hot"]
    weights = list(itertools.accumulate(1 / rank**0.9 for rank in range(1, wide + 1)))
    zipf = [("wide", bisect.bisect(weights, draw.random() * weights[-1])) for _ in range(12 * buffers)]
    of_hot = lambda count: [("hot", draw.randrange(hot)) for _ in range(count)]
    return {
        "Zipf (0.9) over four times the buffers": zipf,
        "a loop over 1.25 times the buffers": [("wide", at % (buffers * 5 // 4)) for at in range(8 * buffers)],
        "pages of a hot set of half the buffers, and scans of a table of four times": [
            step for _ in range(6) for step in [*of_hot(buffers), ("wide", None)]
        ],
    }


def work(steps):
    """The steps as one block of SQL."""
    lines = []
    for table, run in itertools.groupby(steps, lambda step: (step[0], step[1] is None)):
        if table[1]:
            lines.append(f"perform count(*) from {table[0]};")
        else:
            blocks = ",".join(str(block) for _, block in run)
            lines.append(
                f"foreach b in array '{{{blocks}}}'::int[] loop perform pg_prewarm('{table[0]}', 'buffer', 'main', b, b); end loop;"
            )
    return f"do $$ declare b int; begin {' '.join(lines)} end $$;"


def counted(server, steps):
    """Reads, references and buffers that the tables had, which are all that hold nothing else in the end."""
    server.restart()
    sums = "select sum(heap_blks_read), sum(heap_blks_read + heap_blks_hit) from pg_statio_user_tables"
    begin = [int(number) for number in server.sql(f"{sums};").split("|")]
    server.sql(
        "set synchronize_seqscans = off; set max_parallel_workers_per_gather = 0; set jit = off;"
        f"{work(steps)} select pg_stat_force_next_flush();"
    )
    end = [int(number) for number in server.sql(f"{sums};").split("|")]
    free = server.sql(
        "select count(*) from pg_buffercache"
        " where relfilenode is null or relfilenode in (pg_relation_filenode('wide'), pg_relation_filenode('hot'))"
    )
    return end[0] - begin[0], end[1] - begin[1], int(free)


def simulated(hotset, steps, pages, held):
    """Misses by policy, and references."""
    blocks = [(table, block) for table, at in steps for block in ([at] if at is not None else range(pages[table]))]
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("time_s,pid,op,file,offset,bytes\n")
        file.writelines(f"{at / 1e4:.4f},postgres,R,/{table},{block * PAGE},{PAGE}\n" for at, (table, block) in enumerate(blocks))
        file.flush()
        command = [hotset, "simulate", file.name, "-p", "clock-sweep,clock-sweep(scan=1),clock-sweep(ring=0),clock,lru", "-s", str(held), "--block", "8K", "--json", "-"]
        rows = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [json.loads(row)["misses"] for row in rows.splitlines()], len(blocks)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hotset", default="target/release/hotset")
    arguments.add_argument("--bin", default="/usr/lib/postgresql/15/bin")
    arguments.add_argument("--memory", type=int, default=16, help="MiB of shared buffers")
    given = arguments.parse_args()
    buffers = given.memory * 2**20 // PAGE
    pages = {"wide": 4 * buffers, "hot": buffers // 2}
    with tempfile.TemporaryDirectory() as folder:
        server = Server(given.bin, folder, given.memory)
        try:
            tables(server, pages)
            print(f"{server.sql('select version()').split(' on ')[0]}, {given.memory} MiB of shared buffers, blocks of 8 KiB\n")
            print("| references | buffers | PostgreSQL | `clock-sweep` | `clock-sweep(scan=1)` | `clock-sweep(ring=0)` | `clock` | `lru` |\n|---|---|---|---|---|---|---|---|")
            for name, steps in references(pages, buffers).items():
                missed, all, held = counted(server, steps)
                by_policy, replayed = simulated(given.hotset, steps, pages, held)
                if all != replayed:
                    print(f"(the server counts {all} references, {replayed} were asked for)", file=sys.stderr)
                shares = [f"{100 * count / replayed:.2f} %" for count in (missed, *by_policy)]
                print(f"| {name} | {held} of {buffers} | {' | '.join(shares)} |", flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
