-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua
-- Files finished ids: by log time, and one without a partition for its own time. After
-- preamble.lua, in scripts that finish ids. A stamp below the watermark of its partition counts as
-- that (rule 22), and as the present while no watermark is known.
local fullest, most_bits, most_slices = tonumber(ARGV[4]), 21, 32
local touched = {}
local function load_slice(slice)
  if not slice.n then
    slice.n = tonumber(redis.call('HGET', base .. 'x:' .. slice.id, 'n') or 0)
    slice.most = {}
  end
  touched[slice.id] = slice
  return slice
end
local function add_slice(generation, bits)
  local id = redis.call('HINCRBY', KEYS[1], 'slices', 1)
  local slice = {id = id, generation = generation, bits = bits, n = 0, most = {}}
  redis.call('HSET', base .. 's', text(id), text(generation) .. ':' .. bits .. ':')
  slices[#slices + 1] = slice
  sort_slices()
  touched[id] = slice
  return slice
end
-- Buckets for as many ids as the generation before it has. A later one may be of the few that were
-- filed while no watermark was known.
local function usual_bits(generation)
  local before, ids, bits = nil, 0, 6
  for _, slice in ipairs(slices) do
    if slice.generation < generation and slice.generation == (before or slice.generation) then
      before = slice.generation
      ids = ids + load_slice(slice).n
    end
  end
  while fullest * 2 ^ bits < ids and bits < most_bits do bits = bits + 1 end
  return bits
end
-- Of the id's own generation, or of a later one if there are too many: then it is known for longer.
-- Never of one that may be dropped: below the horizon.
local function slice_for(filed)
  local generation = math.floor(math.max(filed, horizon, 0) / span)
  local best
  for _, slice in ipairs(all_slices()) do
    if not slice.dropped and slice.generation >= generation and
       not (best and best.generation == slice.generation) then
      best = slice
    end
  end
  if best and (best.generation == generation or #slices >= most_slices) then
    load_slice(best)
    if best.n < fullest * 2 ^ best.bits or best.bits >= most_bits then return best end
    return add_slice(best.generation, math.min(best.bits + 3, most_bits))
  end
  return add_slice(generation, usual_bits(generation))
end
local watermarks = {}
local function watermark(partition)
  if not watermarks[partition] then
    local known = redis.call('HMGET', base .. 'p:' .. partition, 'latest', 'watermark')
    local latest = tonumber(known[1] or known[2] or -1)
    watermarks[partition] = latest < 0 and math.floor(now / 1000) or latest
  end
  return watermarks[partition]
end
local function file(digest, record, filed, result, partition, offset)
  local slice = slice_for(math.max(filed, watermark(partition)))
  local where = bucket(slice, digest)
  redis.call('HSET', base .. 'd:' .. where, digest, record)
  if result ~= '' then redis.call('HSET', base .. 'r:' .. where, digest, result) end
  slice.n = slice.n + 1
  slice.most[partition] = math.max(slice.most[partition] or -1, tonumber(offset))
end
-- `ends` in microseconds; 0: for ever. The TTL only frees the space.
local function keep(digest, record, ends, result)
  local value = '\2' .. struct.pack('>I8I2', ends, #record) .. record .. result
  if ends == 0 then
    redis.call('SET', base .. 'i:' .. digest, value)
  else
    redis.call('SET', base .. 'i:' .. digest, value, 'PX',
               text(math.max(math.ceil((ends - now) / 1000), 1)))
  end
end
local function unfile(slice, digest, record)
  local where = bucket(slice, digest)
  redis.call('HDEL', base .. 'd:' .. where, digest)
  if record:byte() % 2 == 1 then redis.call('HDEL', base .. 'r:' .. where, digest) end
  load_slice(slice).n = slice.n - 1
end
local function settle()
  for id, slice in pairs(touched) do
    local tally = base .. 'x:' .. id
    redis.call('HSET', tally, 'n', text(slice.n))
    for partition, offset in pairs(slice.most) do
      if offset > tonumber(redis.call('HGET', tally, partition) or -1) then
        redis.call('HSET', tally, partition, text(offset))
      end
    end
  end
end
local open, parked = 0, 0
-- At the end of a script that has changed ids.
local function changed_ids()
  settle()
  if open ~= 0 then redis.call('HINCRBY', KEYS[1], 'open', open) end
  if parked ~= 0 then redis.call('HINCRBY', KEYS[1], 'parked', parked) end
  counted()
end
