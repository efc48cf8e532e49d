-- Orders of a wholesaler after TPC-C: tables, rows and transactions for two warehouses, about 170 MB. `psql -f tpcc.sql`.
-- Rows are as wide as the benchmark's; names and addresses are left out, and last names are numbers. Transactions are functions, drawn by
-- tpcc.pgbench in the benchmark's shares; items and customers are drawn by its non-uniform rule.

SELECT setseed(0.5);
CREATE TABLE warehouse (w int PRIMARY KEY, ytd numeric, filler char(80));
CREATE TABLE district (w int, d int, next_order int, ytd numeric, filler char(80), PRIMARY KEY (w, d));
CREATE TABLE customer (w int, d int, c int, last int, balance numeric, ytd numeric, data char(600), PRIMARY KEY (w, d, c));
CREATE TABLE history (w int, d int, c int, at timestamp, amount numeric, data char(24));
CREATE TABLE item (i int PRIMARY KEY, price numeric, name char(60));
CREATE TABLE stock (w int, i int, quantity int, ytd int, orders int, data char(290), PRIMARY KEY (w, i));
CREATE TABLE orders (w int, d int, o int, c int, entered timestamp, carrier int, lines int, PRIMARY KEY (w, d, o));
CREATE TABLE new_order (w int, d int, o int, PRIMARY KEY (w, d, o));
CREATE TABLE order_line (w int, d int, o int, number int, i int, quantity int, amount numeric, delivered timestamp, data char(24),
    PRIMARY KEY (w, d, o, number));

INSERT INTO warehouse SELECT w, 300000, 'x' FROM generate_series(1, 2) w;
INSERT INTO district SELECT w, d, 3001, 30000, 'x' FROM warehouse, generate_series(1, 10) d;
INSERT INTO customer SELECT w, d, c, floor(random() * 1000), -10, 10, 'x' FROM district, generate_series(1, 3000) c;
INSERT INTO item SELECT i, 1 + 99 * random(), 'x' FROM generate_series(1, 100000) i;
INSERT INTO stock SELECT w, i, 10 + floor(random() * 91), 0, 0, 'x' FROM warehouse, generate_series(1, 100000) i;
INSERT INTO orders SELECT w, d, c, floor(1 + random() * 3000), now(), 1, 5 + floor(random() * 11) FROM customer;
INSERT INTO order_line
    SELECT w, d, o, n, floor(1 + random() * 100000), 5, 100 * random(), entered, 'x' FROM orders, generate_series(1, lines) n;
INSERT INTO new_order SELECT w, d, o FROM orders WHERE o > 2100;
CREATE INDEX ON customer (w, d, last);
CREATE INDEX ON orders (w, d, c, o);
VACUUM FREEZE ANALYZE;

-- NURand of the benchmark's section 2.1.6, with 7 for its constant.
CREATE FUNCTION uneven(spread int, most int) RETURNS int LANGUAGE sql VOLATILE AS $$
    SELECT ((floor(random() * (spread + 1))::int | floor(1 + random() * most)::int) + 7) % most + 1 $$;

CREATE FUNCTION new_order(home int, dist int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    number int; total numeric := 0; good int; cost numeric; amount int; source int; count int := 5 + floor(random() * 11);
BEGIN
    UPDATE district SET next_order = next_order + 1 WHERE w = home AND d = dist RETURNING next_order - 1 INTO number;
    PERFORM ytd FROM warehouse WHERE w = home;
    PERFORM balance FROM customer WHERE w = home AND d = dist AND c = (SELECT uneven(1023, 3000));
    INSERT INTO orders VALUES (home, dist, number, uneven(1023, 3000), now(), NULL, count);
    INSERT INTO new_order VALUES (home, dist, number);
    FOR line IN 1 .. count LOOP
        good := uneven(8191, 100000);
        amount := 1 + floor(random() * 10);
        source := CASE WHEN random() < 0.01 THEN 3 - home ELSE home END;
        SELECT price INTO cost FROM item WHERE i = good;
        UPDATE stock SET ytd = ytd + amount, orders = orders + 1, quantity = CASE WHEN quantity < amount + 10 THEN quantity + 91 ELSE quantity END - amount
            WHERE w = source AND i = good;
        INSERT INTO order_line VALUES (home, dist, number, line, good, amount, amount * cost, NULL, 'x');
        total := total + amount * cost;
    END LOOP;
    RETURN total;
END $$;

CREATE FUNCTION payment(home int, dist int, paid numeric) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    who int := uneven(1023, 3000); at int := CASE WHEN random() < 0.15 THEN 3 - home ELSE home END;
BEGIN
    UPDATE warehouse SET ytd = ytd + paid WHERE w = home;
    UPDATE district SET ytd = ytd + paid WHERE w = home AND d = dist;
    IF random() < 0.6 THEN
        SELECT c INTO who FROM customer WHERE w = at AND d = dist AND last = (SELECT uneven(255, 1000) - 1) ORDER BY c LIMIT 1;
    END IF;
    UPDATE customer SET balance = balance - paid, ytd = ytd + paid WHERE w = at AND d = dist AND c = who;
    INSERT INTO history VALUES (home, dist, who, now(), paid, 'x');
    RETURN who;
END $$;

CREATE FUNCTION order_status(home int, dist int) RETURNS numeric LANGUAGE sql VOLATILE AS $$
    SELECT sum(amount) FROM order_line WHERE w = home AND d = dist AND o =
        (SELECT max(o) FROM orders WHERE w = home AND d = dist AND c = (SELECT uneven(1023, 3000))) $$;

CREATE FUNCTION delivery(home int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    oldest int; buyer int; owed numeric;
BEGIN
    FOR dist IN 1 .. 10 LOOP
        DELETE FROM new_order WHERE w = home AND d = dist AND o = (SELECT min(o) FROM new_order WHERE w = home AND d = dist) RETURNING o INTO oldest;
        UPDATE orders SET carrier = 1 WHERE w = home AND d = dist AND o = oldest RETURNING c INTO buyer;
        UPDATE order_line SET delivered = now() WHERE w = home AND d = dist AND o = oldest;
        SELECT sum(amount) INTO owed FROM order_line WHERE w = home AND d = dist AND o = oldest;
        UPDATE customer SET balance = balance + owed WHERE w = home AND d = dist AND c = buyer;
    END LOOP;
    RETURN oldest;
END $$;

CREATE FUNCTION stock_level(home int, dist int) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT count(DISTINCT s.i) FROM district t
        JOIN order_line l ON l.w = t.w AND l.d = t.d AND l.o >= t.next_order - 20 AND l.o < t.next_order
        JOIN stock s ON s.w = l.w AND s.i = l.i AND s.quantity < 15
    WHERE t.w = home AND t.d = dist $$;
