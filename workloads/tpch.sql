-- Sales after TPC-H, at a tenth of its smallest scale, about 130 MB, and ten of its queries. `psql -f tpch.sql` makes the tables,
-- `psql -f tpch-queries.sql` asks. Rows are as wide as the benchmark's; text columns that no query here looks at are one filler.

SELECT setseed(0.5);
CREATE TABLE nation (nation int PRIMARY KEY, name text, region int);
CREATE TABLE supplier (supplier int PRIMARY KEY, nation int, filler char(110));
CREATE TABLE part (part int PRIMARY KEY, brand int, kind int, container int, size int, price numeric, filler char(80));
CREATE TABLE partsupp (part int, supplier int, quantity int, cost numeric, filler char(120), PRIMARY KEY (part, supplier));
CREATE TABLE customer (customer int PRIMARY KEY, nation int, segment int, balance numeric, filler char(130));
CREATE TABLE orders (number int PRIMARY KEY, customer int, price numeric, ordered date, priority int, filler char(70));
CREATE TABLE lineitem (number int, line int, part int, supplier int, quantity numeric, price numeric, discount numeric, tax numeric,
    returned char(1), status char(1), shipped date, committed date, received date, mode int, filler char(40), PRIMARY KEY (number, line));

INSERT INTO nation SELECT n, 'nation ' || n, n % 5 FROM generate_series(0, 24) n;
INSERT INTO supplier SELECT s, floor(random() * 25), 'x' FROM generate_series(1, 1000) s;
INSERT INTO part SELECT p, floor(random() * 25), floor(random() * 150), floor(random() * 40), 1 + floor(random() * 50), 900 + p % 1000, 'x'
    FROM generate_series(1, 20000) p;
INSERT INTO partsupp SELECT part, 1 + (part + n * 251) % 1000, floor(random() * 9999), 1000 * random(), 'x' FROM part, generate_series(0, 3) n;
INSERT INTO customer SELECT c, floor(random() * 25), floor(random() * 5), 9999 * random(), 'x' FROM generate_series(1, 15000) c;
INSERT INTO orders SELECT o, 1 + floor(random() * 15000), 100000 * random(), date '1992-01-01' + floor(random() * 2400)::int, floor(random() * 5), 'x'
    FROM generate_series(1, 150000) o;
INSERT INTO lineitem
    SELECT number, n, 1 + floor(random() * 20000), 1 + floor(random() * 1000), 1 + floor(random() * 50), 50000 * random(), floor(random() * 11) / 100, 0.05,
        substr('ANR', 1 + floor(random() * 3)::int, 1), substr('FO', 1 + floor(random() * 2)::int, 1), ordered + floor(1 + random() * 121)::int,
        ordered + floor(30 + random() * 61)::int, ordered + floor(5 + random() * 150)::int, floor(random() * 7), 'x'
    FROM orders, generate_series(1, 1 + number % 7) n;
CREATE INDEX ON lineitem (part);
CREATE INDEX ON orders (customer);
VACUUM FREEZE ANALYZE;
