-- SPDX-License-Identifier: Apache-2.0
-- The tables of the window in PostgreSQL, version 2. @schema@ is the schema of one application. Each
-- statement may run again: later columns are added to the tables of earlier versions.
CREATE SCHEMA IF NOT EXISTS @schema@;

-- One row. Programs refuse a version that they do not know.
CREATE TABLE IF NOT EXISTS @schema@.window_version (version int NOT NULL);
INSERT INTO @schema@.window_version (version)
  SELECT 2 WHERE NOT EXISTS (SELECT 1 FROM @schema@.window_version);
UPDATE @schema@.window_version SET version = 2 WHERE version = 1;

-- A scope is one handler of one group. `secret` keys the digests of its ids. Ids of records before
-- `horizon` (log time, ms) may be gone. `swept` is the next block for the sweep up to `sweeps`. Ids
-- are kept for `remember` and `skew` (ms), the longest times of all openings.
CREATE TABLE IF NOT EXISTS @schema@.window_scopes (
  scope int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name bytea NOT NULL UNIQUE,
  owner bytea,
  secret bytea NOT NULL,
  incarnation bigint NOT NULL,
  level smallint NOT NULL,
  horizon bigint NOT NULL DEFAULT 0,
  sweeps bigint NOT NULL DEFAULT 0,
  swept bigint
);
-- What an id names: 1 one operation within the scope, 2 one within its partition. NULL: a scope of
-- version 1, as 1.
ALTER TABLE @schema@.window_scopes ADD COLUMN IF NOT EXISTS ids smallint;
ALTER TABLE @schema@.window_scopes ADD COLUMN IF NOT EXISTS remember bigint;
ALTER TABLE @schema@.window_scopes ADD COLUMN IF NOT EXISTS skew bigint;

-- The number of a topic is the same for ever.
CREATE TABLE IF NOT EXISTS @schema@.window_sources (
  scope int NOT NULL,
  source bigint NOT NULL,
  topic bytea NOT NULL,
  PRIMARY KEY (scope, source),
  UNIQUE (scope, topic)
);

-- Owner epoch, progress and announcement of each partition.
CREATE TABLE IF NOT EXISTS @schema@.window_partitions (
  scope int NOT NULL,
  source bigint NOT NULL,
  part int NOT NULL,
  own bigint NOT NULL DEFAULT 0,
  raised bigint NOT NULL DEFAULT 0,
  frontier bigint NOT NULL DEFAULT -1,
  watermark bigint,
  known_from bigint NOT NULL DEFAULT 0,
  known_to bigint NOT NULL DEFAULT 0,
  announced bigint NOT NULL DEFAULT -1,
  metadata bytea NOT NULL DEFAULT '',
  PRIMARY KEY (scope, source, part)
) WITH (fillfactor = 50);
-- The highest watermark so far: after a new assignment one old stamp may tell a lower one.
ALTER TABLE @schema@.window_partitions ADD COLUMN IF NOT EXISTS latest bigint;
-- `told`: number of the last announcement, in its process. The others: in which run of the server,
-- and when, all ids of the partition were known last; NULL: of an earlier program, 0: never.
ALTER TABLE @schema@.window_partitions ADD COLUMN IF NOT EXISTS told bigint NOT NULL DEFAULT 0;
ALTER TABLE @schema@.window_partitions ADD COLUMN IF NOT EXISTS run_started bigint;
ALTER TABLE @schema@.window_partitions ADD COLUMN IF NOT EXISTS run_timeline bigint;
ALTER TABLE @schema@.window_partitions ADD COLUMN IF NOT EXISTS whole bigint;

-- One row for each message that a handler was called for although an earlier attempt may have had
-- its effect. Times are in milliseconds since 1970.
CREATE TABLE IF NOT EXISTS @schema@.window_uncertain (
  scope int NOT NULL,
  id bytea NOT NULL,
  source bigint NOT NULL,
  part int NOT NULL,
  off bigint NOT NULL,
  attempt bigint NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  PRIMARY KEY (scope, id, source, part, off)
);

-- One row for each id. state: 1 open, 2 done, 3 parked, 4 handed on. flags: 1 held, 2 uncertain,
-- 4 cut (MarkerRules::CutToClock()); an open one without flags only counts failed attempts. `ends`:
-- of a lease; or of a done id without a partition (part -1), which is unknown from then on. No index
-- on anything that changes, so an update stays within its page.
CREATE TABLE IF NOT EXISTS @schema@.window_ids (
  scope int NOT NULL,
  id bytea NOT NULL,
  state smallint NOT NULL,
  source bigint NOT NULL,
  part int NOT NULL,
  off bigint NOT NULL,
  filed bigint NOT NULL,
  print bigint,
  token bytea,
  own bigint,
  attempt bigint,
  flags smallint,
  granted bigint,
  ends bigint,
  entry bigint,
  result bytea,
  PRIMARY KEY (scope, id)
) WITH (fillfactor = 85);
