-- SPDX-License-Identifier: Apache-2.0
-- Finds the scope, or makes it. KEYS[1]: the scope. ARGV: 1 version, 2 incarnation, 3 secret,
-- 4 level, 5 span of a generation in ms, 6 1: it may be made, 7 1: it is only looked at, 8 1: this
-- process had opened another one. The answer: 1: it was made now; the server's time; when the scope
-- was found last before; when another run of the server was found, or 0; since when changes may be
-- gone then; then version, level, span, incarnation and secret. A line each.
local made = redis.call('EXISTS', KEYS[1]) == 0
if made then
  if ARGV[6] ~= '1' then return '' end
  redis.call('HSET', KEYS[1], 'v', ARGV[1], 'inc', ARGV[2], 'secret', ARGV[3], 'level', ARGV[4],
             'span', ARGV[5], 'horizon', '0', 'made', text(now))
  if ARGV[8] == '1' then
    redis.call('HSET', KEYS[1], 'changed', text(now), 'since', '0', 'until', text(now))
  end
end
local scope = redis.call('HMGET', KEYS[1], 'v', 'level', 'span', 'inc', 'secret')
for i = 1, 5 do
  if not scope[i] then
    return redis.error_reply('ONCEMQ what lies under the key of this scope is not ours')
  end
end
local seen = redis.call('HGET', KEYS[1], 'seen')
if ARGV[7] ~= '1' then note_run() end
local news = redis.call('HMGET', KEYS[1], 'changed', 'since')
return table.concat({made and '1' or '0', text(now), seen or '0', news[1] or '0', news[2] or '0',
                     table.concat(scope, '\n')}, '\n')
