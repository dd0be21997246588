-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua
-- Begins each script of the window in Redis, after run.lua. Keys, all below the text `base`, which
-- has the hash tag of the scope:
--   scope              hash: v, inc, secret, level, span, made, owner, next, slices, horizon,
--                      tried, open, parked; remember, skew: how long ids are kept, in ms;
--                      run, seen: the run of the server that was found last,
--                      and when; once it was another one: changed: when that was found; since:
--                      changes after it may be gone, 0: all of an earlier scope; until: when all
--                      partitions were announced as whole
--   topics             hash: topic -> its number, the same for ever
--   w                  sorted set: partition -> watermark in ms, -1 while it is not known
--   p:<partition>      hash: own, raised, frontier, watermark, first and latest: the first and the
--                      highest watermark so far; from, to, at, meta; told: number of
--                      the announcement, in its process; run, whole: in which run of the server,
--                      and when, all ids of it were known last; where partitions own
--                      their ids also millis and number of the last entry of l:, horizon, ids and
--                      parked, as announced
--   l:<partition>      stream: finished ids of a partition that owns them (owned_ids.h)
--   k:<partition>      hash: digest -> marker of a parked or handed id of such a partition, or of a
--                      doubt
--   i:<digest>         string: an open, parked or handed id, without a TTL (rule 25); or, with
--                      one, a finished id without a partition, or a count of failed attempts: an
--                      open marker without flags
--   s                  hash: slice -> generation:bits:next bucket to drop
--   d:<slice>:<bucket> hash: digest -> record of a finished id
--   r:<slice>:<bucket> hash: digest -> its result
--   x:<slice>          hash: n -> ids, partition -> highest offset
--   u                  hash: digest, or '!' and coordinates -> uncertain calls (uncertain.lua)
--   ut                 sorted set: the same -> its last uncertain call, in ms
--   n:<process>        string: how many changes of this process are in the store (rule 31), for a
--                      week after its last call
-- A generation is a span of log time. It has one slice, and further ones of more buckets when that
-- is full. A partition is <source>:<number>. A marker has 82 bytes, highest byte first: state 1,
-- flags 1 (1 held, 2 uncertain, 4 cut: MarkerRules::CutToClock()), token 16, fingerprint 4, own 8,
-- granted 8, ends 8, attempt 4, entry 8, source 4, partition 4, offset 8, filed 8. A record: flags
-- 1, fingerprint 4, [token 16,] coordinates. A finished id without a partition: 2, ends 8 in us or
-- 0, length of the record 2, record, result.
--
-- KEYS[1]: the scope. ARGV: 1 its incarnation, 2 the highest count that this process was answered,
-- 3 the process.
local counter = base .. 'n:' .. ARGV[3]
local scope = redis.call('HMGET', KEYS[1], 'inc', 'horizon', 'span', 'remember', 'skew', 'seen')
local count = tonumber(redis.call('GET', counter) or 0)
if scope[1] ~= ARGV[1] or count < tonumber(ARGV[2]) then
  return 'L' .. struct.pack('>I8', count) .. (scope[1] or '')
end
local horizon, span = tonumber(scope[2]), tonumber(scope[3])
-- The least distance of a dropped id to the slowest watermark; nothing: the scope does not say it.
local kept = scope[4] and scope[5] and tonumber(scope[4]) + tonumber(scope[5])

-- For a week, which is as long as a process may ask nothing. A server without room lets looks pass.
local function remembered(call)
  call('SET', counter, text(count), 'PX', 604800000)
end
local function counted()
  count = count + 1
  remembered(redis.call)
  if now - tonumber(scope[6] or now) > 60000000 then note_run() end
end
local function looked()
  if count > 0 then remembered(redis.pcall) end
end
-- Whether no later announcement of the same owner is there.
local function is_new(row, own, number)
  return tonumber(own) == 0 or tonumber(number) > tonumber(redis.call('HGET', row, 'told') or 0)
end
local function strange()
  return redis.error_reply('ONCEMQ what lies under the keys of this window is not ours')
end

local owners = {}
local function owner(partition)
  local known = owners[partition]
  if not known then
    local raw = redis.call('HMGET', base .. 'p:' .. partition, 'own', 'raised')
    known = {own = tonumber(raw[1] or 0), raised = tonumber(raw[2] or 0)}
    owners[partition] = known
  end
  return known
end
local function owner_bytes(partition)
  local known = owner(partition)
  return struct.pack('>I8I8', known.own, known.raised)
end

-- The newest generation first, the newest slice of a generation first.
local slices
local function sort_slices()
  table.sort(slices, function(a, b)
    if a.generation ~= b.generation then return a.generation > b.generation end
    return a.id > b.id
  end)
end
local function all_slices()
  if not slices then
    slices = {}
    local raw = redis.call('HGETALL', base .. 's')
    for i = 1, #raw, 2 do
      local generation, bits, dropped = raw[i + 1]:match('^(%d+):(%d+):(%d*)$')
      slices[#slices + 1] = {id = tonumber(raw[i]), generation = tonumber(generation),
                             bits = tonumber(bits), dropped = tonumber(dropped)}
    end
    sort_slices()
  end
  return slices
end
local function bucket(slice, digest)
  local a, b, c = digest:byte(1, 3)
  return slice.id .. ':' .. math.floor((a * 65536 + b * 256 + c) / 2 ^ (24 - slice.bits))
end
local function find(digest)
  for _, slice in ipairs(all_slices()) do
    local record = redis.call('HGET', base .. 'd:' .. bucket(slice, digest), digest)
    if record then return slice, record end
  end
end

-- The values below i: of these ids; nothing: one is not ours. A finished id whose time has ended
-- is as one that is not there, also before its TTL takes it.
local function markers_of(digests)
  if #digests == 0 then return {} end
  local keys = {}
  for i, digest in ipairs(digests) do keys[i] = base .. 'i:' .. digest end
  local markers = redis.call('MGET', unpack(keys))
  for i = 1, #digests do
    local marker = markers[i]
    if marker and marker:byte() == 2 then
      if #marker < 11 then return nil end
      local ends = struct.unpack('>I8', marker, 2)
      if ends ~= 0 and ends <= now then markers[i] = false end
    elseif marker and #marker ~= 82 then
      return nil
    end
  end
  return markers
end

-- An id for the judge: \0 new, \1 with its marker and the owner of the marker's partition, \2
-- finished. \3: it was changed as the caller asked. \4: finished, without a partition. \5: the
-- answer has no room for its result.
local room = 8388608
local function takes_room(bytes)
  room = room - bytes
  return room < 0
end
local function state(digest, marker, slice, record)
  if marker and marker:byte() == 2 then
    if takes_room(#marker) then return '\5' end
    return '\4' .. struct.pack('>I4', #marker) .. marker
  end
  if marker then
    local source, partition = struct.unpack('>I4i4', marker, 59)
    return '\1' .. marker .. owner_bytes(source .. ':' .. partition)
  end
  if not slice then return '\0' end
  local result = ''
  if record:byte() % 2 == 1 then
    result = redis.call('HGET', base .. 'r:' .. bucket(slice, digest), digest) or ''
  end
  if takes_room(#result) then return '\5' end
  -- Filed before the end of its generation.
  local ends = (slice.generation + 1) * span - 1
  return '\2' .. struct.pack('>I8I8I2', slice.id, ends, #record) .. record ..
         struct.pack('>I4', #result) .. result
end
local function answer(parts)
  return 'S' .. struct.pack('>I8I8I8', now, horizon, count) .. table.concat(parts)
end
