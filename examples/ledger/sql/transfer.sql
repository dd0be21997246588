-- SPDX-License-Identifier: Apache-2.0
-- $1 message id, $2 payer, $3 payee, $4 cents, $5 time of the message in ms
WITH event AS (
  SELECT convert_from($1, 'UTF8') AS id, convert_from($2, 'UTF8') AS payer,
    convert_from($3, 'UTF8') AS payee, $4 AS cents, open_day($5) AS day),
came_in AS (
  DELETE FROM credits USING event WHERE account = event.payer RETURNING credits.cents),
-- The CHECK refuses a balance below zero. No row: the payer has no account.
paid AS (
  UPDATE accounts
  SET cents = accounts.cents + (SELECT coalesce(sum(came_in.cents), 0) FROM came_in) - event.cents
  FROM event WHERE name = event.payer RETURNING name),
credited AS (
  INSERT INTO credits (account, cents) SELECT payee, cents FROM event, paid)
INSERT INTO postings (id, account, cents, day)
SELECT id, side.account, side.cents, day
FROM event, paid, LATERAL (VALUES (event.payer, -event.cents), (event.payee, event.cents))
  AS side (account, cents)
