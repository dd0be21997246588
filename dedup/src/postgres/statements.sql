-- SPDX-License-Identifier: Apache-2.0
-- The statements of the window in PostgreSQL, each after its name. @schema@ is the schema of the
-- application, @clock@ the time in microseconds, @least_filed@ the least time in ms that a finished
-- id `v` is filed under (rule 22): window_statements.cc.

-- name: version
SELECT version, current_setting('server_version_num') FROM @schema@.window_version

-- name: rights
-- Each one that this role lacks.
SELECT need.privilege || ' on ' || need.name
FROM (VALUES ('window_scopes', 'SELECT'), ('window_scopes', 'INSERT'), ('window_scopes', 'UPDATE'),
  ('window_sources', 'SELECT'), ('window_sources', 'INSERT'),
  ('window_partitions', 'SELECT'), ('window_partitions', 'INSERT'),
  ('window_partitions', 'UPDATE'), ('window_ids', 'SELECT'), ('window_ids', 'INSERT'),
  ('window_ids', 'UPDATE'), ('window_ids', 'DELETE'),
  ('window_uncertain', 'SELECT'), ('window_uncertain', 'INSERT'),
  ('window_uncertain', 'UPDATE'), ('window_uncertain', 'DELETE')) AS need (name, privilege)
WHERE NOT has_table_privilege('@schema@.' || need.name, need.privilege)

-- name: find_scope
SELECT scope, secret, incarnation, level, remember, skew, ids FROM @schema@.window_scopes
WHERE name = $1

-- name: make_scope
INSERT INTO @schema@.window_scopes (name, secret, incarnation, level, ids)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (name) DO NOTHING

-- name: extend
-- A scope of an earlier version has no times: it takes those of its first opening.
UPDATE @schema@.window_scopes SET remember = $2, skew = $3
WHERE name = $1 AND coalesce(remember, 0) <= $2 AND coalesce(skew, 0) <= $3

-- name: replace
UPDATE @schema@.window_scopes SET remember = $2, skew = $3
WHERE name = $1 AND coalesce(remember, $2) >= $2 AND coalesce(skew, $3) >= $3

-- name: share
-- Nobody raises these ownerships before the end of the transaction.
SELECT pg_advisory_xact_lock_shared(key) FROM unnest($1::bigint[]) AS key

-- name: share_one
SELECT pg_advisory_xact_lock_shared($1)

-- name: owners
SELECT p.source, p.part, p.own, p.raised FROM @schema@.window_partitions AS p
JOIN unnest($2::bigint[], $3::bigint[]) AS asked (source, part) USING (source, part)
WHERE p.scope = $1

-- name: lock_ids
-- In the order of the digests, or two batches could wait for each other. Id by id, also by a plan
-- that was made while the table was empty.
SELECT m.id, m.state, m.source, m.part, m.off, m.filed, m.print, m.token, m.own, m.attempt, m.flags,
  m.granted, m.ends, m.entry, m.result, p.own, p.raised
FROM (SELECT unnest((SELECT $2::bytea[])) AS id) AS asked
CROSS JOIN LATERAL (
  SELECT * FROM @schema@.window_ids WHERE scope = $1 AND id = asked.id FOR UPDATE
) AS m
LEFT JOIN @schema@.window_partitions AS p
  ON p.scope = m.scope AND p.source = m.source AND p.part = m.part

-- name: look_at_ids
SELECT m.id, m.state, m.source, m.part, m.off, m.filed, m.print, m.token, m.own, m.attempt, m.flags,
  m.granted, m.ends, m.entry, m.result, p.own, p.raised
-- Id by id, also by a plan that was made while the table was empty.
FROM unnest($2::bytea[]) AS asked (id)
CROSS JOIN LATERAL (
  SELECT * FROM @schema@.window_ids WHERE scope = $1 AND id = asked.id OFFSET 0
) AS m
LEFT JOIN @schema@.window_partitions AS p
  ON p.scope = m.scope AND p.source = m.source AND p.part = m.part

-- name: look
-- Level atomic: the time, the owner of the partition $3 and $4, and the rows of the ids. All
-- in one snapshot: an id that is missing may have gone up to this horizon.
-- The array is in a subquery, or a plan for few ids would look better than one for any number, and
-- would be made anew each time.
SELECT now.horizon, now.clock, now.timeline, now.position, now.started,
  now.source, now.part, now.own, now.raised,
  m.id, m.state, m.source, m.part, m.off, m.filed, m.print, m.token, m.own, m.attempt, m.flags,
  m.granted, m.ends, m.entry, m.result, NULL, NULL
FROM (
  SELECT s.horizon, @clock@ AS clock, @timeline@ AS timeline, @position@ AS position,
    @started@ AS started, p.source, p.part, p.own, p.raised
  FROM @schema@.window_scopes AS s
  LEFT JOIN @schema@.window_partitions AS p
    ON p.scope = s.scope AND p.source = $3 AND p.part = $4
  WHERE s.scope = $1 OFFSET 0
) AS now LEFT JOIN (
  (SELECT unnest((SELECT $2::bytea[])) AS id) AS asked
  CROSS JOIN LATERAL (
    SELECT * FROM @schema@.window_ids WHERE scope = $1 AND id = asked.id OFFSET 0
  ) AS m
) ON true

-- name: scope_now
-- After the ids: one that is missing may have gone up to this horizon.
SELECT horizon, @clock@, @timeline@, @position@, @started@
FROM @schema@.window_scopes WHERE scope = $1

-- name: insert_ids
-- No ON CONFLICT: where somebody else was faster, the whole batch is judged again.
INSERT INTO @schema@.window_ids (scope, id, state, source, part, off, filed, print, token, own,
  attempt, flags, granted, ends, entry, result)
SELECT $1, id, state, source, part, off,
  CASE WHEN state = 2 THEN greatest(filed, @least_filed@) ELSE filed END,
  nullif(print, 0), nullif(token, ''), nullif(own, 0),
  nullif(attempt, 0), nullif(flags, 0), nullif(granted, 0), nullif(ends, 0), nullif(entry, 0),
  nullif(result, '')
FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
  $8::bigint[], $9::bytea[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
  $14::bigint[], $15::bigint[], $16::bytea[])
  AS v (id, state, source, part, off, filed, print, token, own, attempt, flags, granted, ends, entry,
  result)

-- name: offer_id
-- The row of a claim, where the table has none of its id. Its times count from the present. The last
-- column: how many rows were made.
WITH now AS (
  SELECT horizon, @clock@ AS clock, @timeline@ AS timeline, @position@ AS position,
    @started@ AS started
  FROM @schema@.window_scopes WHERE scope = $1
), made AS (
  INSERT INTO @schema@.window_ids (scope, id, state, source, part, off, filed, print, token, own,
    attempt, flags, granted, ends, entry, result)
  SELECT $1, $2, $3, $4, $5, $6, $7 + now.clock / 1000, nullif($8, 0), nullif($9, ''),
    nullif($10, 0), nullif($11, 0), nullif($12, 0), $13 + now.clock,
    least($14, 9223372036854775807 - now.clock) + now.clock, nullif($15, 0), nullif($16, '')
  FROM now
  ON CONFLICT DO NOTHING
  RETURNING 1
)
SELECT now.horizon, now.clock, now.timeline, now.position, now.started,
  (SELECT count(*) FROM made)
FROM now

-- name: finish_id
-- The row of a completion, where the claim of its token is open. Times and answer as above.
WITH now AS (
  SELECT horizon, @clock@ AS clock, @timeline@ AS timeline, @position@ AS position,
    @started@ AS started
  FROM @schema@.window_scopes WHERE scope = $1
), made AS (
  UPDATE @schema@.window_ids AS m
  SET state = $3, source = $4, part = $5, off = $6,
    filed = greatest(m.filed, $7 + now.clock / 1000), print = coalesce(m.print, nullif($8, 0)),
    own = nullif($10, 0), attempt = nullif($11, 0), flags = nullif($12, 0),
    granted = nullif($13, 0), ends = least($14, 9223372036854775807 - now.clock) + now.clock,
    entry = nullif($15, 0), result = nullif($16, '')
  FROM now
  WHERE m.scope = $1 AND m.id = $2 AND m.state = 1 AND m.token = $9
  RETURNING 1
)
SELECT now.horizon, now.clock, now.timeline, now.position, now.started,
  (SELECT count(*) FROM made)
FROM now

-- name: unpark
-- Level atomic, before insert_done: ids whose records run once more. One that another transaction
-- has finished, or parked under another number, stays: insert_done is refused then.
DELETE FROM @schema@.window_ids AS m
USING unnest($2::bytea[], $3::bigint[]) AS v (id, entry)
CROSS JOIN LATERAL (
  SELECT ctid AS place FROM @schema@.window_ids WHERE scope = $1 AND id = v.id OFFSET 0
) AS known
WHERE m.ctid = known.place AND m.state = 3 AND m.entry = v.entry

-- name: insert_done
-- Level atomic. The unique key decides among copies: a second one waits for this transaction, and
-- is refused after its COMMIT. A division by zero refuses it, too: another owner than $10, or a
-- server that may have lost commits since the place $11 to $13.
INSERT INTO @schema@.window_ids (scope, id, state, source, part, off, filed, print, token, result)
SELECT $1, id, 2, $3, $4, off,
  greatest(least(CASE WHEN filed >= 0 THEN filed END, (SELECT @clock@ / 1000)),
    coalesce((SELECT greatest(latest, watermark) FROM @schema@.window_partitions
              WHERE scope = $1 AND source = $3 AND part = $4), (SELECT @clock@ / 1000))),
  nullif(print, 0), token, nullif(result, '')
FROM (
  SELECT unnest($2::bytea[]) AS id, unnest($5::bigint[]) AS off, unnest($6::bigint[]) AS filed,
    unnest($7::bigint[]) AS print, unnest($8::bytea[]) AS token, unnest($9::bytea[]) AS result
) AS v
WHERE (
  SELECT 1 / CASE WHEN ($10 = 0 OR EXISTS (SELECT FROM @schema@.window_partitions
      WHERE scope = $1 AND source = $3 AND part = $4 AND own = $10))
    AND ($11 = 0 OR (@started@ = $11 AND @timeline@ = $12 AND @position@ >= $13)) THEN 1 ELSE 0 END
) = 1

-- name: finish_done
-- Results of the handlers, for markers that were inserted before they ran.
UPDATE @schema@.window_ids AS m
SET filed = greatest(m.filed, least(v.filed, @clock@ / 1000)), result = nullif(v.result, '')
FROM unnest($2::bytea[], $3::bigint[], $4::bytea[]) AS v (id, filed, result)
CROSS JOIN LATERAL (
  SELECT ctid AS place FROM @schema@.window_ids WHERE scope = $1 AND id = v.id OFFSET 0
) AS known
WHERE m.ctid = known.place

-- name: update_ids
-- Of rows that this transaction has locked, so each stays in its place. Id by id, as above.
UPDATE @schema@.window_ids AS m
SET state = v.state, source = v.source, part = v.part, off = v.off,
  filed = CASE WHEN v.state = 2 THEN greatest(v.filed, @least_filed@) ELSE v.filed END,
  print = nullif(v.print, 0), token = nullif(v.token, ''), own = nullif(v.own, 0),
  attempt = nullif(v.attempt, 0), flags = nullif(v.flags, 0), granted = nullif(v.granted, 0),
  ends = nullif(v.ends, 0), entry = nullif(v.entry, 0), result = nullif(v.result, '')
FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
  $8::bigint[], $9::bytea[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
  $14::bigint[], $15::bigint[], $16::bytea[])
  AS v (id, state, source, part, off, filed, print, token, own, attempt, flags, granted, ends, entry,
  result)
CROSS JOIN LATERAL (
  SELECT ctid AS place FROM @schema@.window_ids WHERE scope = $1 AND id = v.id OFFSET 0
) AS known
WHERE m.ctid = known.place

-- name: places
SELECT source, part FROM @schema@.window_partitions WHERE scope = $1

-- name: delete_ids
DELETE FROM @schema@.window_ids WHERE scope = $1 AND id = ANY ($2::bytea[])

-- name: forget_ids
-- An operator's act: finished, parked or handed on, and no open claim.
DELETE FROM @schema@.window_ids WHERE scope = $1 AND id = ANY ($2::bytea[]) AND state > 1
RETURNING id

-- name: record_uncertain
-- In the order of the key, or two batches could wait for each other.
INSERT INTO @schema@.window_uncertain AS u (scope, id, source, part, off, attempt, first, last)
SELECT $1, id, source, part, off, max(attempt), @clock@ / 1000, @clock@ / 1000
FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
  AS v (id, source, part, off, attempt)
GROUP BY id, source, part, off ORDER BY id, source, part, off
ON CONFLICT (scope, id, source, part, off) DO UPDATE
SET attempt = greatest(u.attempt, excluded.attempt), last = excluded.last

-- name: forget_uncertain
DELETE FROM @schema@.window_uncertain WHERE scope = $1 AND last < @clock@ / 1000
  - greatest($2, (SELECT remember FROM @schema@.window_scopes WHERE scope = $1))

-- name: list_uncertain
SELECT u.id, u.source, u.part, u.off, u.attempt, u.first, u.last, s.topic
FROM @schema@.window_uncertain AS u
LEFT JOIN @schema@.window_sources AS s ON s.scope = u.scope AND s.source = u.source
WHERE u.scope = $1 AND u.last >= $2 ORDER BY u.last, u.id, u.source, u.part, u.off

-- name: known_uncertain
SELECT DISTINCT id FROM @schema@.window_uncertain WHERE scope = $1 AND id = ANY ($2::bytea[])

-- name: raise_own
-- No row: somebody has $5: a transaction of the present owner, for as long as a handler of it works.
INSERT INTO @schema@.window_partitions AS p (scope, source, part, own, raised)
SELECT $1, $2, $3, greatest($4, @clock@, 1), @clock@ WHERE pg_try_advisory_xact_lock($5)
ON CONFLICT (scope, source, part) DO UPDATE
SET own = greatest(p.own + 1, $4, @clock@), raised = excluded.raised, told = 0
RETURNING own

-- name: own_scope
UPDATE @schema@.window_scopes SET owner = coalesce(owner, $2) WHERE scope = $1 RETURNING owner

-- name: make_source
-- The scope's row is locked by own_scope.
INSERT INTO @schema@.window_sources (scope, source, topic)
SELECT $1, coalesce(max(source) + 1, 0), $2 FROM @schema@.window_sources WHERE scope = $1
HAVING count(*) FILTER (WHERE topic = $2) = 0

-- name: make_partition
INSERT INTO @schema@.window_partitions (scope, source, part, run_started, run_timeline, whole)
SELECT scope, source, $3, @started@, @timeline@, @clock@ FROM @schema@.window_sources
WHERE scope = $1 AND topic = $2
ON CONFLICT DO NOTHING

-- name: known
-- The last two: 1: the server was started again or replaced since all ids were known; for how long,
-- in us, changes have been made that may be missing then.
SELECT s.source, p.known_from, p.known_to, p.announced, p.metadata,
  CASE WHEN p.announced >= 0 AND (p.run_started <> @started@ OR p.run_timeline <> @timeline@)
    THEN 1 ELSE 0 END, greatest(@clock@, p.whole) - p.whole
FROM @schema@.window_sources AS s
JOIN @schema@.window_partitions AS p ON p.scope = s.scope AND p.source = s.source AND p.part = $3
WHERE s.scope = $1 AND s.topic = $2

-- name: announce
-- By the present owner, and on a server that has lost nothing since the place $9 to $11. A request
-- that lands after its client's timeout must not replace a later one of the same ownership: $12 is
-- its number. $13: 1: the window has all ids of the partition.
UPDATE @schema@.window_partitions AS p
SET (known_from, known_to, announced, metadata, told, run_started, run_timeline, whole) = (
  SELECT CASE WHEN late THEN p.known_from ELSE $4 END, CASE WHEN late THEN p.known_to ELSE $5 END,
    CASE WHEN late THEN p.announced ELSE $6 END, CASE WHEN late THEN p.metadata ELSE $7 END,
    CASE WHEN late THEN p.told ELSE $12 END,
    CASE WHEN has_all THEN @started@ ELSE coalesce(p.run_started, 0) END,
    CASE WHEN has_all THEN @timeline@ ELSE coalesce(p.run_timeline, 0) END,
    CASE WHEN has_all THEN @clock@ ELSE coalesce(p.whole, 0) END
  FROM (SELECT $8 <> 0 AND p.told >= $12 AS late) AS judged
  CROSS JOIN LATERAL (SELECT NOT judged.late AND $13 = 1 AS has_all) AS told_whole
)
WHERE scope = $1 AND source = $2 AND part = $3 AND ($8 = 0 OR own = $8)
  AND ($9 = 0 OR (@started@ = $9 AND @timeline@ = $10 AND @position@ >= $11))

-- name: committed
-- A stamp of the future must not make everything look old (rule 22). Without a stamp the log time is
-- not lower than at an earlier frontier.
UPDATE @schema@.window_partitions
SET frontier = $5, watermark = CASE WHEN $6 >= 0 THEN least($6, @clock@ / 1000)
                                    WHEN $5 >= frontier THEN watermark END,
  latest = greatest(latest, watermark, CASE WHEN $6 >= 0 THEN least($6, @clock@ / 1000) END)
WHERE scope = $1 AND source = $2 AND part = $3 AND own = $4 AND own > 0

-- name: begin_sweep
-- The slowest partition that was ever owned decides; one without a watermark pins all (rule 24).
-- Where none was, only ids without a partition age: by the clock. How long ids are kept is the
-- scope's to say, not the caller's: here and below.
UPDATE @schema@.window_scopes AS s SET sweeps = slowest.mark - (s.remember + s.skew), swept = 0
FROM (SELECT coalesce(min(watermark), @clock@ / 1000) AS mark,
        count(*) FILTER (WHERE watermark IS NULL) AS unknown
      FROM @schema@.window_partitions WHERE scope = $1 AND own > 0) AS slowest
WHERE s.scope = $1 AND s.swept IS NULL AND slowest.unknown = 0
  AND slowest.mark - (s.remember + s.skew) >= s.sweeps + greatest(s.remember / 64, 1)

-- name: begin_alone
-- For the ids without a partition, also where a partition pins the others or the log stands still.
-- The pass takes none of those that the last one left.
UPDATE @schema@.window_scopes SET swept = 0 WHERE scope = $1 AND swept IS NULL

-- name: mark
-- First the horizon, committed, then the rows go: one that is missing must not look new (rule 26).
UPDATE @schema@.window_scopes AS s SET horizon = greatest(s.horizon, aged.newest + 1)
FROM (
  SELECT max(m.filed) AS newest
  FROM @schema@.window_ids AS m JOIN @schema@.window_partitions AS p
    ON p.scope = m.scope AND p.source = m.source AND p.part = m.part
  WHERE m.ctid >= ('(' || (SELECT swept FROM @schema@.window_scopes WHERE scope = $1)
                   || ',0)')::tid
    AND m.ctid < ('(' || (SELECT swept + $2 FROM @schema@.window_scopes WHERE scope = $1)
                  || ',0)')::tid
    AND m.scope = $1 AND m.state = 2 AND m.off < p.frontier
    AND m.filed < (SELECT least(sweeps, @slowest_now@ - (remember + skew))
                   FROM @schema@.window_scopes WHERE scope = $1)
) AS aged
WHERE s.scope = $1 AND aged.newest >= s.horizon

-- name: sweep
-- One step: the finished ids in a few blocks of the table. One process at a time.
WITH step AS (
  SELECT swept, least(sweeps, horizon, @slowest_now@ - (remember + skew)) AS below
  FROM @schema@.window_scopes
  WHERE scope = $1 AND swept IS NOT NULL FOR UPDATE SKIP LOCKED
), gone AS (
  -- And open ones without flags, which only count attempts that have failed.
  DELETE FROM @schema@.window_ids AS m USING @schema@.window_partitions AS p
  WHERE m.ctid >= ('(' || (SELECT swept FROM step) || ',0)')::tid
    AND m.ctid < ('(' || (SELECT swept + $2 FROM step) || ',0)')::tid
    AND m.scope = $1 AND (m.state = 2 OR (m.state = 1 AND m.flags IS NULL))
    AND m.filed < (SELECT below FROM step)
    AND p.scope = m.scope AND p.source = m.source AND p.part = m.part AND m.off < p.frontier
  RETURNING 1
), alone AS (
  -- Their horizon is their own end: they look new after it in any case.
  DELETE FROM @schema@.window_ids AS m
  WHERE m.ctid >= ('(' || (SELECT swept FROM step) || ',0)')::tid
    AND m.ctid < ('(' || (SELECT swept + $2 FROM step) || ',0)')::tid
    AND m.scope = $1 AND m.state = 2 AND m.part = -1 AND m.ends <= @clock@
  RETURNING 1
)
UPDATE @schema@.window_scopes AS s
SET swept = CASE WHEN (step.swept + $2) * current_setting('block_size')::bigint
                      < pg_relation_size('@schema@.window_ids') THEN step.swept + $2 END
FROM step WHERE s.scope = $1
RETURNING s.swept, (SELECT count(*) FROM gone) + (SELECT count(*) FROM alone)

-- name: remove_ids
DELETE FROM @schema@.window_ids WHERE scope = $1

-- name: remove_scope
DELETE FROM @schema@.window_scopes WHERE scope = $1

-- name: counts
SELECT count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state = 1),
  count(*) FILTER (WHERE state = 3), pg_total_relation_size('@schema@.window_ids')
FROM @schema@.window_ids WHERE scope = $1

-- name: partitions
SELECT source, part, own, frontier, watermark, known_from, known_to, announced,
  watermark IS NOT DISTINCT FROM min(watermark) OVER () OR watermark IS NULL
FROM @schema@.window_partitions WHERE scope = $1 ORDER BY source, part
