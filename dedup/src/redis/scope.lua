-- SPDX-License-Identifier: Apache-2.0
-- Finds the scope, or makes it. KEYS[1]: the scope. ARGV: 1 version, 2 incarnation, 3 secret,
-- 4 level, 5 span of a generation in ms, 6 1: it may be made.
pcall(redis.replicate_commands)  -- of servers before 7
if redis.call('EXISTS', KEYS[1]) == 0 then
  if ARGV[6] ~= '1' then return '' end
  redis.call('HSET', KEYS[1], 'v', ARGV[1], 'inc', ARGV[2], 'secret', ARGV[3], 'level', ARGV[4],
             'span', ARGV[5], 'horizon', '0', 'made', string.format('%.0f', @clock@))
end
local scope = redis.call('HMGET', KEYS[1], 'v', 'level', 'span', 'inc', 'secret')
for i = 1, 5 do
  if not scope[i] then
    return redis.error_reply('ONCEMQ what lies under the key of this scope is not ours')
  end
end
return table.concat(scope, '\n')
