-- SPDX-License-Identifier: Apache-2.0
-- Keeps announcements, all or none. ARGV: 4 their number in the process; from 5, for each: the
-- partition; the ownership, or 0; from; to; offset; metadata; 1: the window has all ids of the
-- partition. One that comes after a later one of its owner changes nothing: its caller gave up.
for i = 5, #ARGV, 7 do
  local own = tonumber(ARGV[i + 1])
  if redis.call('EXISTS', base .. 'p:' .. ARGV[i]) == 0 or
     (own ~= 0 and owner(ARGV[i]).own ~= own) then
    return 'F'
  end
end
local run = server_run()
for i = 5, #ARGV, 7 do
  local key = base .. 'p:' .. ARGV[i]
  if is_new(key, ARGV[i + 1], ARGV[4]) then
    redis.call('HSET', key, 'from', ARGV[i + 2], 'to', ARGV[i + 3], 'at', ARGV[i + 4],
               'meta', ARGV[i + 5], 'told', ARGV[4])
    if ARGV[i + 6] == '1' then redis.call('HSET', key, 'run', run, 'whole', text(now)) end
  end
end
counted()
return 'W' .. struct.pack('>I8', count)
