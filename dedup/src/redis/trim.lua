-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua
-- Forgets entries of a partition's stream. ARGV: 4 the partition; 5 its ownership; 6 for how long
-- ids are kept, as the caller was told; 7 the horizon in ms; then for each entry: its id; how many
-- ids it has. A scope that keeps them for longer by now loses none.
local row = base .. 'p:' .. ARGV[4]
if owner(ARGV[4]).own ~= tonumber(ARGV[5]) or not kept or kept > tonumber(ARGV[6]) then
  return 'F'
end
-- Ids that were finished before the first watermark count as of that one (rule 22). The times of
-- entries never fall, so a later time for these few would keep all entries after them.
local known = redis.call('HMGET', row, 'first', 'watermark')
if known[1] and tonumber(known[1]) >= tonumber(known[2] or -1) - kept then return 'F' end
-- First the horizon: an id that is gone must not look new (rule 26).
if tonumber(ARGV[7]) > tonumber(redis.call('HGET', row, 'horizon') or 0) then
  redis.call('HSET', row, 'horizon', ARGV[7])
end
local gone = 0
for i = 8, #ARGV, 2 do
  if redis.call('XDEL', base .. 'l:' .. ARGV[4], ARGV[i]) == 1 then
    gone = gone + tonumber(ARGV[i + 1])
  end
end
if gone > 0 then redis.call('HINCRBY', row, 'ids', -gone) end
counted()
return 'W' .. struct.pack('>I8', count)
