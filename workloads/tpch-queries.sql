-- Ten queries after TPC-H, by its numbers, on the tables of tpch.sql. Number 17, the one of the partitioning paper, is asked of several brands.

-- 1: what was shipped
SELECT returned, status, sum(quantity), sum(price), sum(price * (1 - discount)), avg(discount), count(*) FROM lineitem
    WHERE shipped <= date '1998-09-02' GROUP BY 1, 2 ORDER BY 1, 2;
-- 3: the largest orders not yet shipped
SELECT number, sum(l.price * (1 - discount)) revenue FROM customer JOIN orders USING (customer) JOIN lineitem l USING (number)
    WHERE segment = 1 AND ordered < date '1995-03-15' AND shipped > date '1995-03-15' GROUP BY 1 ORDER BY 2 DESC LIMIT 10;
-- 4: late orders by priority
SELECT priority, count(*) FROM orders o WHERE ordered >= date '1993-07-01' AND ordered < date '1993-10-01'
    AND EXISTS (SELECT FROM lineitem l WHERE l.number = o.number AND committed < received) GROUP BY 1 ORDER BY 1;
-- 5: revenue of suppliers at home
SELECT n.name, sum(l.price * (1 - discount)) FROM customer c JOIN orders USING (customer) JOIN lineitem l USING (number)
    JOIN supplier s ON s.supplier = l.supplier AND s.nation = c.nation JOIN nation n ON n.nation = s.nation
    WHERE region = 2 AND ordered >= date '1994-01-01' AND ordered < date '1995-01-01' GROUP BY 1 ORDER BY 2 DESC;
-- 6: what smaller discounts would have given
SELECT sum(price * discount) FROM lineitem
    WHERE shipped >= date '1994-01-01' AND shipped < date '1995-01-01' AND discount BETWEEN 0.05 AND 0.07 AND quantity < 24;
-- 9: profit by nation and year
SELECT n.name, extract(year FROM ordered), sum(l.price * (1 - discount) - cost * l.quantity) FROM part JOIN lineitem l USING (part)
    JOIN partsupp USING (part) JOIN supplier s ON s.supplier = l.supplier JOIN nation n ON n.nation = s.nation JOIN orders USING (number)
    WHERE kind < 8 GROUP BY 1, 2 ORDER BY 1, 2;
-- 12: modes of shipping and priorities
SELECT mode, sum((priority < 2)::int), sum((priority >= 2)::int) FROM orders JOIN lineitem USING (number)
    WHERE mode IN (1, 2) AND committed < received AND received >= date '1994-01-01' AND received < date '1995-01-01' GROUP BY 1 ORDER BY 1;
-- 14: share of promotions
SELECT sum(l.price) FILTER (WHERE kind < 30) / sum(l.price) FROM lineitem l JOIN part USING (part)
    WHERE shipped >= date '1995-09-01' AND shipped < date '1995-10-01';
-- 17: small orders of some parts, for five brands
SELECT brand, sum(l.price) / 7 FROM lineitem l JOIN part p USING (part) WHERE brand < 5 AND container < 4
    AND quantity < (SELECT 0.2 * avg(quantity) FROM lineitem WHERE part = p.part) GROUP BY 1;
-- 18: the largest orders
SELECT customer, number, sum(quantity) FROM customer JOIN orders USING (customer) JOIN lineitem USING (number)
    WHERE number IN (SELECT number FROM lineitem GROUP BY 1 HAVING sum(quantity) > 270) GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 100;
