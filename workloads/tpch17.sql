-- The two tables of query 17 of TPC-H, about 270 MB, without an index on `lineitem (part)`: the query reads all of
-- `lineitem` once for each part that it selects, and once more. `psql -f tpch17.sql` creates the tables.

SELECT setseed(0.5);
CREATE TABLE part (part int PRIMARY KEY, brand int, kind int, container int, size int, price numeric, filler char(80));
CREATE TABLE lineitem (number int, line int, part int, supplier int, quantity numeric, price numeric, discount numeric, tax numeric,
    returned char(1), status char(1), shipped date, committed date, received date, mode int, filler char(40));

INSERT INTO part SELECT p, p % 25, p % 150, (p / 25) % 40, 1 + p % 50, 900 + p % 1000, 'x' FROM generate_series(1, 4000) p;
INSERT INTO lineitem
    SELECT n / 4, n % 4, 1 + floor(random() * 4000), 1 + floor(random() * 1000), 1 + floor(random() * 50), 50000 * random(),
        floor(random() * 11) / 100, 0.05, 'A', 'F', date '1992-01-01' + n % 2400, date '1992-02-01' + n % 2400,
        date '1992-03-01' + n % 2400, n % 7, 'x'
    FROM generate_series(1, 2000000) n;
VACUUM FREEZE ANALYZE;
