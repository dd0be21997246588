-- SPDX-License-Identifier: Apache-2.0
-- $1 message id, $2 account
INSERT INTO statements (request, account, postings, cents)
SELECT event.id, event.account, count(postings.n), coalesce(sum(postings.cents), 0)
FROM (SELECT convert_from($1, 'UTF8') AS id, convert_from($2, 'UTF8') AS account) AS event
LEFT JOIN postings ON postings.account = event.account
GROUP BY event.id, event.account
