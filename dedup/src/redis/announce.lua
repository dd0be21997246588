-- SPDX-License-Identifier: Apache-2.0
-- Keeps announcements, all or none. ARGV from 4, for each: the partition; the ownership, or 0;
-- from; to; offset; metadata.
for i = 4, #ARGV, 6 do
  local own = tonumber(ARGV[i + 1])
  if redis.call('EXISTS', base .. 'p:' .. ARGV[i]) == 0 or
     (own ~= 0 and owner(ARGV[i]).own ~= own) then
    return 'F'
  end
end
for i = 4, #ARGV, 6 do
  redis.call('HSET', base .. 'p:' .. ARGV[i], 'from', ARGV[i + 2], 'to', ARGV[i + 3],
             'at', ARGV[i + 4], 'meta', ARGV[i + 5])
end
counted()
return 'W' .. struct.pack('>I8', count)
