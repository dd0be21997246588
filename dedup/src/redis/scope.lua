-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua
-- Finds the scope, or makes it. KEYS[1]: the scope. ARGV: 1 version, 2 incarnation, 3 secret,
-- 4 level, 5 and 6 for how long ids are to be kept (remember and skew, in ms), 7 the change:
-- `make` and `extend` take over longer times, `replace` shorter ones, `none` only looks. Only
-- `make` makes a scope. 8 1: this process had opened another one. The answer: 1: it was made now;
-- the server's time; when the scope was found last before; when another run of the server was
-- found, or 0; since when changes may be gone then; then version, level, remember, skew,
-- incarnation and secret. A line each.
local remember, skew = tonumber(ARGV[5]), tonumber(ARGV[6])
-- Of a generation of ids.
local span = math.max(math.floor(remember / 2), 1000)
local made = redis.call('EXISTS', KEYS[1]) == 0
if made then
  if ARGV[7] ~= 'make' then return '' end
  redis.call('HSET', KEYS[1], 'v', ARGV[1], 'inc', ARGV[2], 'secret', ARGV[3], 'level', ARGV[4],
             'horizon', '0', 'made', text(now), 'span', text(span), 'remember', text(remember),
             'skew', text(skew))
  if ARGV[8] == '1' then
    redis.call('HSET', KEYS[1], 'changed', text(now), 'since', '0', 'until', text(now))
  end
end
local function read()
  return redis.call('HMGET', KEYS[1], 'v', 'level', 'span', 'inc', 'secret', 'remember', 'skew')
end
local scope = read()
for i = 1, 5 do
  if not scope[i] then
    return redis.error_reply('ONCEMQ what lies under the key of this scope is not ours')
  end
end
local seen = redis.call('HGET', KEYS[1], 'seen')
if ARGV[7] ~= 'none' then note_run() end
local ours = scope[1] == ARGV[1] and scope[2] == ARGV[4]
-- One of an earlier version has no times: it takes those of its first opening.
local fits = remember >= tonumber(scope[6] or 0) and skew >= tonumber(scope[7] or 0)
if ARGV[7] == 'replace' then
  fits = remember <= tonumber(scope[6] or remember) and skew <= tonumber(scope[7] or skew)
end
if ours and ARGV[7] ~= 'none' and fits then
  -- Generations have numbers by their span. A slice keeps its end, or gets a later one.
  local old = tonumber(scope[3])
  local slices = span ~= old and redis.call('HGETALL', base .. 's') or {}
  for i = 1, #slices, 2 do
    local generation, rest = slices[i + 1]:match('^(%d+)(:.*)$')
    local last = (tonumber(generation) + 1) * old - 1
    redis.call('HSET', base .. 's', slices[i], text(math.floor(last / span)) .. rest)
  end
  redis.call('HSET', KEYS[1], 'remember', text(remember), 'skew', text(skew), 'span', text(span))
  scope = read()
end
local news = redis.call('HMGET', KEYS[1], 'changed', 'since')
return table.concat({made and '1' or '0', text(now), seen or '0', news[1] or '0', news[2] or '0',
                     scope[1], scope[2], scope[6] or '0', scope[7] or '0', scope[4], scope[5]},
                    '\n')
