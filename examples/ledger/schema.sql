-- SPDX-License-Identifier: Apache-2.0
-- The settlement ledger; `ledger tables` runs this file. No key here is the id of a message: the
-- window alone makes each event happen once.

-- Only transfers that the account pays change its row. So two runs never wait for each other's rows.
CREATE TABLE IF NOT EXISTS accounts (
  name  text PRIMARY KEY,
  cents bigint NOT NULL DEFAULT 0 CONSTRAINT balance_not_negative CHECK (cents >= 0)
);

-- Money that came in. The next transfer that the account pays moves it into the account's row.
CREATE TABLE IF NOT EXISTS credits (
  account text NOT NULL CONSTRAINT account_is_open REFERENCES accounts,
  cents   bigint NOT NULL CHECK (cents > 0)
);
CREATE INDEX IF NOT EXISTS credits_account ON credits (account);

CREATE OR REPLACE VIEW balances AS
SELECT name, cents + coalesce((SELECT sum(c.cents) FROM credits c WHERE c.account = name), 0)
  AS cents
FROM accounts;

-- Double entry: the rows of one event sum to zero. The account `outside` stands for the world. It
-- has no row in `accounts`, so it may be negative.
CREATE TABLE IF NOT EXISTS postings (
  n       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id      text NOT NULL,  -- of the message
  account text NOT NULL,
  cents   bigint NOT NULL,
  day     date NOT NULL
);
CREATE INDEX IF NOT EXISTS postings_account ON postings (account);
CREATE INDEX IF NOT EXISTS postings_day ON postings (day);

CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION 'postings are append-only'; END $$;
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE ON postings
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE IF NOT EXISTS closings (
  day       date PRIMARY KEY,
  postings  bigint NOT NULL,
  turnover  bigint NOT NULL,
  net       bigint NOT NULL CONSTRAINT books_balance CHECK (net = 0),
  closed_by text NOT NULL
);

-- The day of an event, or the first one after the last that is closed.
CREATE OR REPLACE FUNCTION open_day(at_ms bigint) RETURNS date LANGUAGE sql STABLE
AS $$ SELECT greatest((to_timestamp(at_ms / 1000.0) AT TIME ZONE 'UTC')::date,
                      (SELECT max(day) + 1 FROM closings)) $$;

CREATE TABLE IF NOT EXISTS statements (
  request  text NOT NULL,  -- the id of the message
  account  text NOT NULL CONSTRAINT account_is_open REFERENCES accounts,
  postings bigint NOT NULL,
  cents    bigint NOT NULL
);
