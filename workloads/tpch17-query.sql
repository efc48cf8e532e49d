-- Query 17 of TPC-H, of one brand and one container: the revenue lost without small orders of some parts. The average
-- is computed once for each part; as a correlated subquery PostgreSQL computes it for each row of `lineitem`.
SELECT sum(l.price) / 7 FROM part p
    CROSS JOIN LATERAL (SELECT 0.2 * avg(quantity) AS least FROM lineitem WHERE part = p.part OFFSET 0) average
    JOIN lineitem l ON l.part = p.part AND l.quantity < average.least
    WHERE brand = 3 AND container = 4;
