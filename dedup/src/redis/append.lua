-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua
-- Takes the ids that the owner of a partition has finished, and its announcement. ARGV: 4 the
-- partition; 5 its ownership; 6 how many entries of the stream; 7 from; 8 to; 9 offset; 10
-- metadata; 11 1: the window has all ids of the partition; 12 parked ids; 13 the number of the
-- announcement in the process; then for each entry: its milliseconds; its number; how many ids; its
-- bytes; then for each marker that has changed: its digest; its bytes, or nothing. Without a number
-- more scripts follow, without `from` no commit does. One that comes after a later one changes
-- nothing.
local row = base .. 'p:' .. ARGV[4]
if redis.call('EXISTS', row) == 0 or owner(ARGV[4]).own ~= tonumber(ARGV[5]) then return 'F' end
-- A number that is there already is of a request of this owner whose answer was lost.
local number, millis, ids = tonumber(redis.call('HGET', row, 'number') or 0), nil, 0
local markers = 14 + 4 * tonumber(ARGV[6])
for i = 14, markers - 1, 4 do
  if tonumber(ARGV[i + 1]) > number then
    redis.call('XADD', base .. 'l:' .. ARGV[4], ARGV[i] .. '-' .. ARGV[i + 1], 'i', ARGV[i + 3])
    millis, number = ARGV[i], tonumber(ARGV[i + 1])
    ids = ids + tonumber(ARGV[i + 2])
  end
end
if millis then
  redis.call('HSET', row, 'millis', millis, 'number', text(number))
  redis.call('HINCRBY', row, 'ids', ids)
end
if tonumber(ARGV[13]) > 0 and is_new(row, ARGV[5], ARGV[13]) then
  for i = markers, #ARGV, 2 do
    if ARGV[i + 1] == '' then
      redis.call('HDEL', base .. 'k:' .. ARGV[4], ARGV[i])
    else
      redis.call('HSET', base .. 'k:' .. ARGV[4], ARGV[i], ARGV[i + 1])
    end
  end
  redis.call('HSET', row, 'parked', ARGV[12], 'told', ARGV[13])
  if ARGV[7] ~= '' then
    redis.call('HSET', row, 'from', ARGV[7], 'to', ARGV[8], 'at', ARGV[9], 'meta', ARGV[10])
  end
  if ARGV[11] == '1' then redis.call('HSET', row, 'run', server_run(), 'whole', text(now)) end
end
counted()
return 'W' .. struct.pack('>I8I8', count, now)
