-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua
-- One step of forgetting: some buckets of a slice that has aged. ARGV: 4 how many buckets; 5 1:
-- also where a step has lately found none. The answer: how many ids went with a slice that is
-- through, and 1 if there may be more.
local function passed(slice)
  local tally = redis.call('HGETALL', base .. 'x:' .. slice.id)
  for i = 1, #tally, 2 do
    local frontier = tally[i] ~= 'n' and
      tonumber(redis.call('HGET', base .. 'p:' .. tally[i], 'frontier') or -1)
    if frontier and tonumber(tally[i + 1]) >= frontier then return false end
  end
  return true
end
-- The slowest partition that was ever owned decides; one whose watermark is not known keeps all
-- (rule 24). For how long is the scope's to say, not the caller's.
local function aged()
  local slowest = redis.call('ZRANGE', base .. 'w', 0, 0, 'WITHSCORES')
  local limit = kept and slowest[2] and tonumber(slowest[2]) >= 0 and tonumber(slowest[2]) - kept
  if not limit then return nil end
  local tried = tonumber(redis.call('HGET', KEYS[1], 'tried') or 0)
  if ARGV[5] ~= '1' and limit < tried then return nil end
  for i = #slices, 1, -1 do
    local slice = slices[i]
    if (slice.generation + 1) * span <= limit and passed(slice) then return slice end
  end
  redis.call('HSET', KEYS[1], 'tried', text(limit + math.floor(span / 16)))
  return nil
end
local slice
for _, one in ipairs(all_slices()) do
  if one.dropped then slice = one end
end
if not slice then
  slice = aged()
  if not slice then return 'D' .. struct.pack('>I8', 0) .. '0' end
  -- First the horizon: an id that is gone must not look new (rule 26).
  horizon = math.max(horizon, (slice.generation + 1) * span)
  redis.call('HSET', KEYS[1], 'horizon', text(horizon))
  slice.dropped = 0
end
local stop = math.min(slice.dropped + tonumber(ARGV[4]), 2 ^ slice.bits)
local keys = {}
for i = slice.dropped, stop - 1 do
  keys[#keys + 1] = base .. 'd:' .. slice.id .. ':' .. i
  keys[#keys + 1] = base .. 'r:' .. slice.id .. ':' .. i
end
redis.call('UNLINK', unpack(keys))
local gone = 0
if stop == 2 ^ slice.bits then
  gone = tonumber(redis.call('HGET', base .. 'x:' .. slice.id, 'n') or 0)
  redis.call('UNLINK', base .. 'x:' .. slice.id)
  redis.call('HDEL', base .. 's', text(slice.id))
else
  redis.call('HSET', base .. 's', text(slice.id),
             text(slice.generation) .. ':' .. slice.bits .. ':' .. stop)
end
return 'D' .. struct.pack('>I8', gone) .. '1'
