#!/usr/bin/env python3
"""Measures SQLite under its own page cache and under hotset's policies, on the same statements, and prints a table.

    cargo build --release --package hotset-sqlite
    benches/sqlite.py --library target/release/libhotset_sqlite.so --out FILE.md

Hits and misses are SQLite's own counts (sqlite3_db_status), for both caches. Every run gives a digest of its answers, which must
be equal for all caches of a load, and checks its database at the end. Times are processor times of one process and leave out the
building of the database, whose file is in the page cache of the kernel.
"""

import argparse
import ctypes
import hashlib
import json
import os
import platform
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ITEMS = 20_000
CUSTOMERS = 10_000
DISTRICTS = 10
ROWS = 120_000
SHARES = (10, 25, 50)
POLICIES = ("lru", "lirs", "s3-fifo", "arc", "w-tinylfu", "auto")
COUNTS = {"hits": 7, "misses": 8, "writes": 9, "spills": 12}


def processor():
    with open("/proc/cpuinfo") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


class Counts:
    """SQLite's counts of a connection."""

    def __init__(self, connection):
        self.library = ctypes.CDLL("libsqlite3.so.0")
        self.library.sqlite3_libversion.restype = ctypes.c_char_p
        assert self.library.sqlite3_libversion().decode() == sqlite3.sqlite_version
        # The first field of the module's object behind those that every object has.
        self.handle = ctypes.c_void_p.from_address(id(connection) + object.__basicsize__)

    def take(self):
        """The counts since the last call."""
        taken = {}
        for name, code in COUNTS.items():
            now, most = ctypes.c_int(), ctypes.c_int()
            assert self.library.sqlite3_db_status(self.handle, code, ctypes.byref(now), ctypes.byref(most), 1) == 0
            taken[name] = now.value
        return taken


def text(chance, length):
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz ", k=length))


def build_tpcc(connection, chance):
    connection.executescript("""
        create table district(id integer primary key, next integer, total real);
        create table customer(id integer primary key, district integer, last text, balance real, data text);
        create index customer_last on customer(last);
        create table item(id integer primary key, name text, price real, data text);
        create table stock(item integer primary key, quantity integer, sold integer, data text);
        create table orders(id integer primary key, district integer, customer integer, delivered integer);
        create index orders_customer on orders(customer);
        create table line(orders integer, number integer, item integer, amount real, info text,
            primary key(orders, number)) without rowid;
        create table history(customer integer, amount real, data text);
    """)
    put = connection.executemany
    put("insert into district values(?, 1, 0)", ((d,) for d in range(DISTRICTS)))
    names = [text(chance, 12) for _ in range(1000)]
    put("insert into customer values(?, ?, ?, 0, ?)",
        ((c, c % DISTRICTS, names[c % 1000], text(chance, 400)) for c in range(CUSTOMERS)))
    put("insert into item values(?, ?, ?, ?)",
        ((i, text(chance, 20), chance.random() * 100, text(chance, 40)) for i in range(ITEMS)))
    put("insert into stock values(?, 50, 0, ?)", ((i, text(chance, 280)) for i in range(ITEMS)))
    put("insert into orders values(?, ?, ?, 1)", ((o, o % DISTRICTS, chance.randrange(CUSTOMERS)) for o in range(10_000)))
    put("insert into line values(?, ?, ?, 1, ?)",
        ((o, n, chance.randrange(ITEMS), text(chance, 24)) for o in range(10_000) for n in range(10)))


def nurand(chance, a, most):
    """The skewed choice of TPC-C."""
    return ((chance.randrange(a + 1) | chance.randrange(most)) + 17) % most


def new_order(run, chance, state):
    customer = nurand(chance, 1023, CUSTOMERS)
    run("begin")
    run("update district set next = next + 1 where id = ?", (customer % DISTRICTS,))
    state["order"] += 1
    run("insert into orders values(?, ?, ?, 0)", (state["order"], customer % DISTRICTS, customer))
    for number in range(chance.randrange(5, 16)):
        item = nurand(chance, 8191, ITEMS)
        price = run("select price from item where id = ?", (item,))[0][0]
        run("update stock set quantity = case when quantity > 10 then quantity - 1 else 91 end, sold = sold + 1 where item = ?",
            (item,))
        run("insert into line values(?, ?, ?, ?, 'a line of an order here')", (state["order"], number, item, price))
    # One order in a hundred is for an item that is not there.
    run("rollback" if chance.randrange(100) == 0 else "commit")


def payment(run, chance, _):
    amount = chance.random() * 5000
    customer = nurand(chance, 1023, CUSTOMERS)
    run("begin")
    if chance.randrange(100) < 60:
        last = run("select last from customer where id = ?", (customer,))[0][0]
        same = run("select id from customer where last = ? order by id", (last,))
        customer = same[len(same) // 2][0]
    run("update district set total = total + ? where id = ?", (amount, customer % DISTRICTS))
    run("update customer set balance = balance - ? where id = ?", (amount, customer))
    run("insert into history values(?, ?, 'a payment of a customer')", (customer, amount))
    run("commit")


def order_status(run, chance, _):
    customer = nurand(chance, 1023, CUSTOMERS)
    last = run("select max(id) from orders where customer = ?", (customer,))[0][0]
    run("select item, amount from line where orders = ?", (last,))


def delivery(run, _, state):
    run("begin")
    for _ in range(DISTRICTS):
        state["delivered"] = min(state["delivered"] + 1, state["order"])
        run("update orders set delivered = 1 where id = ?", (state["delivered"],))
        run("select sum(amount) from line where orders = ?", (state["delivered"],))
    run("commit")


def stock_level(run, _, state):
    run("select count(distinct stock.item) from line join stock on stock.item = line.item where line.orders > ? and quantity < 20",
        (state["order"] - 20,))


MIX = ((45, new_order), (43, payment), (4, order_status), (4, delivery), (4, stock_level))
REPORTS = ("select count(*), sum(length(data)) from stock", "select count(*), sum(length(data)) from customer",
           "select count(*), sum(length(info)) from line")


def run_tpcc(run, chance, scans):
    state = {"order": 10_000, "delivered": 9_900}
    for step in range(4000):
        run_one = chance.choices([work for _, work in MIX], [weight for weight, _ in MIX])[0]
        run_one(run, chance, state)
        if scans and step % 100 == 99:
            run(REPORTS[step // 100 % len(REPORTS)])


def build_rows(connection, chance):
    connection.execute("create table row(id integer primary key, data text)")
    connection.executemany("insert into row values(?, ?)", ((r, text(chance, 220)) for r in range(ROWS)))


def run_rows(run, chance, _):
    """Look-ups of rows, of which few are popular, beside ranges that are read once."""
    weights = [1 / rank for rank in range(1, ROWS + 1)]
    order = list(range(ROWS))
    chance.shuffle(order)
    for step, row in enumerate(chance.choices(order, weights, k=60_000)):
        run("select length(data) from row where id = ?", (row,))
        if step % 600 == 599:
            begin = chance.randrange(ROWS)
            run("select sum(length(data)) from row where id between ? and ?", (begin, begin + ROWS // 20))


LOADS = {
    "tpcc": (build_tpcc, lambda run, chance: run_tpcc(run, chance, False)),
    "tpcc and reports": (build_tpcc, lambda run, chance: run_tpcc(run, chance, True)),
    "rows and ranges": (build_rows, lambda run, chance: run_rows(run, chance, False)),
}


def measure(load, file, pages):
    """Runs a load on a database, and prints its counts."""
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("pragma synchronous=off")
    connection.execute("pragma journal_mode=wal")
    connection.execute(f"pragma cache_size={pages}")
    counts = Counts(connection)
    digest = hashlib.sha256()

    def run(statement, arguments=()):
        rows = connection.execute(statement, arguments).fetchall()
        digest.update(repr(rows).encode())
        return rows

    counts.take()
    begin = time.process_time()
    LOADS[load][1](run, random.Random(2))
    seconds = time.process_time() - begin
    taken = counts.take()
    assert connection.execute("pragma integrity_check").fetchall() == [("ok",)]
    print(json.dumps({**taken, "seconds": seconds, "digest": digest.hexdigest()}))


def child(arguments, library, policy, folder):
    """The counts of one run in a process of its own."""
    environment = dict(os.environ)
    written = os.path.join(folder, "counts")
    if policy:
        environment.update(LD_PRELOAD=os.path.abspath(library), HOTSET_SQLITE_POLICY=policy, HOTSET_SQLITE_COUNTS=written)
    done = subprocess.run([sys.executable, __file__, *arguments], env=environment, check=True, capture_output=True, text=True)
    if policy:
        with open(written) as counts:
            assert "hits" in counts.read(), "this Python does not load libsqlite3 at run time"
        os.remove(written)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--out", default="/dev/stdout")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    lines = [f"SQLite {sqlite3.sqlite_version}, {platform.system()} {platform.release()}, {processor()}.", ""]
    with tempfile.TemporaryDirectory() as folder:
        for load, (build, _) in LOADS.items():
            file = os.path.join(folder, "built.db")
            with sqlite3.connect(file) as connection:
                build(connection, random.Random(1))
            connection.close()
            pages = os.path.getsize(file) // 4096
            lines += [f"## {load}", "", f"The database has {pages:,} pages before the run.", "",
                      "| cache | hits, 10 % | hits, 25 % | hits, 50 % | pages read, millions | seconds |", "|---|---|---|---|---|---|"]
            results = {}
            for _ in range(options.rounds):
                for share in SHARES:
                    for policy in (None, *POLICIES):
                        used = os.path.join(folder, "used.db")
                        shutil.copy(file, used)
                        one = child(["--measure", load, used, str(pages * share // 100)], options.library, policy, folder)
                        results.setdefault((policy, share), []).append(one)
                        for part in ("", "-wal", "-shm"):
                            if os.path.exists(used + part):
                                os.remove(used + part)
            digests = {one["digest"] for runs in results.values() for one in runs}
            assert len(digests) == 1, "the answers differ"
            for policy in (None, *POLICIES):
                cells = [results[policy, share] for share in SHARES]
                first = [runs[0] for runs in cells]
                assert all(run["misses"] == runs[0]["misses"] for runs in cells for run in runs), "counts differ between rounds"
                ratio = [f"{100 * one['hits'] / (one['hits'] + one['misses']):.2f}" for one in first]
                read = "; ".join(f"{one['misses'] / 1e6:.3f}" for one in first)
                took = "; ".join(f"{statistics.median(run['seconds'] for run in runs):.2f}" for runs in cells)
                lines.append(f"| {policy or 'SQLite'} | {' | '.join(ratio)} | {read} | {took} |")
            lines.append("")
            os.remove(file)
    with open(options.out, "w") as out:
        out.write("\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
