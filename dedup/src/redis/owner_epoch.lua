-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua
-- Raises an ownership. ARGV: 4 the partition; 5 the floor. The answer: it, and the server's time.
local own = math.max(owner(ARGV[4]).own + 1, tonumber(ARGV[5]), now, 1)
if own >= 9007199254740992 then
  return redis.error_reply('ONCEMQ an ownership of this window is beyond 2^53')
end
redis.call('HSET', base .. 'p:' .. ARGV[4], 'own', text(own), 'raised', text(now), 'told', '0')
redis.call('ZADD', base .. 'w', 'NX', -1, ARGV[4])
counted()
return 'R' .. struct.pack('>I8I8I8', count, own, now)
