-- SPDX-License-Identifier: Apache-2.0
-- $1 message id, $2 account, $3 cents, $4 time of the message in ms
WITH event AS (
  SELECT convert_from($1, 'UTF8') AS id, convert_from($2, 'UTF8') AS account, $3 AS cents,
    open_day($4) AS day),
credited AS (
  INSERT INTO credits (account, cents) SELECT account, cents FROM event)
INSERT INTO postings (id, account, cents, day)
SELECT id, side.account, side.cents, day
FROM event, LATERAL (VALUES ('outside', -event.cents), (event.account, event.cents))
  AS side (account, cents)
