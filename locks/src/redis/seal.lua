-- SPDX-License-Identifier: Apache-2.0
-- Raises the seal of a space, and answers the one in force.
local epoch = redis.call('GET', KEYS[1]) or '0'
if #epoch > 10 or not epoch:match('^%d+$') or tonumber(epoch) > 4294967295 then
  return redis.error_reply('ONCEMQ the seal of this space is not ours')
end
epoch = tonumber(epoch)
if tonumber(ARGV[1]) > epoch then
  epoch = tonumber(ARGV[1])
  redis.call('SET', KEYS[1], ARGV[1])
end
return epoch
