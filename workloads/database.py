"""Small transactions on SQLite, after TPC-B: `python3 database.py FILE prepare|TRANSACTIONS`.

Every transaction changes an account, its teller and its branch and appends to the history, with a rollback journal and a cache of 256 KB, so
that the stream below it is that of a database with little memory. Accounts are drawn by a Pareto distribution, seeded.
"""

import random
import sqlite3
import sys

ACCOUNTS, TELLERS, BRANCHES = 100_000, 100, 10

database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA cache_size = -256")
if sys.argv[2] == "prepare":
    database.execute("BEGIN")
    for table, rows in (("account", ACCOUNTS), ("teller", TELLERS), ("branch", BRANCHES)):
        database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, balance INTEGER, filler TEXT)")
        database.executemany(f"INSERT INTO {table} VALUES (?, 0, ?)", ((number, "x" * 84) for number in range(rows)))
    database.execute("CREATE TABLE history (account INTEGER, teller INTEGER, branch INTEGER, amount INTEGER)")
    database.execute("COMMIT")
else:
    draw = random.Random(1)
    for _ in range(int(sys.argv[2])):
        account = int(draw.paretovariate(0.2)) % ACCOUNTS
        teller = draw.randrange(TELLERS)
        amount = draw.randint(-5000, 5000)
        changes = (("account", account), ("teller", teller), ("branch", teller % BRANCHES))
        database.execute("BEGIN IMMEDIATE")
        for table, number in changes:
            database.execute(f"UPDATE {table} SET balance = balance + ? WHERE id = ?", (amount, number))
        database.execute("INSERT INTO history VALUES (?, ?, ?, ?)", (account, teller, teller % BRANCHES, amount))
        database.execute("COMMIT")
