-- SPDX-License-Identifier: Apache-2.0
-- Keeps announcements, all or none. ARGV from 4, for each: the partition; the ownership, or 0;
-- from; to; offset; metadata; 1: the window has all ids of the partition.
for i = 4, #ARGV, 7 do
  local own = tonumber(ARGV[i + 1])
  if redis.call('EXISTS', base .. 'p:' .. ARGV[i]) == 0 or
     (own ~= 0 and owner(ARGV[i]).own ~= own) then
    return 'F'
  end
end
local run = server_run()
for i = 4, #ARGV, 7 do
  local key = base .. 'p:' .. ARGV[i]
  redis.call('HSET', key, 'from', ARGV[i + 2], 'to', ARGV[i + 3], 'at', ARGV[i + 4],
             'meta', ARGV[i + 5])
  if ARGV[i + 6] == '1' then redis.call('HSET', key, 'run', run, 'whole', text(now)) end
end
counted()
return 'W' .. struct.pack('>I8', count)
