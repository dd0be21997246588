-- SPDX-License-Identifier: Apache-2.0
-- $1 day, $2 closed by
INSERT INTO closings (day, postings, turnover, net, closed_by)
SELECT event.day, count(postings.n),
  coalesce(sum(postings.cents) FILTER (WHERE postings.cents > 0), 0),
  coalesce(sum(postings.cents), 0), event.closed_by
FROM (SELECT convert_from($1, 'UTF8')::date AS day, convert_from($2, 'UTF8') AS closed_by) AS event
LEFT JOIN postings ON postings.day = event.day
GROUP BY event.day, event.closed_by
ON CONFLICT (day) DO NOTHING
