-- SPDX-License-Identifier: Apache-2.0
-- Finds the scope, or makes it. KEYS[1]: the scope. ARGV: 1 version, 2 incarnation, 3 secret,
-- 4 level, 5 and 6 for how long ids are to be kept (remember and skew, in ms), 7 the change:
-- `make` and `extend` take over longer times, `replace` shorter ones too, `none` nothing. Only
-- `make` makes a scope.
pcall(redis.replicate_commands)  -- of servers before 7
local remember, skew = tonumber(ARGV[5]), tonumber(ARGV[6])
local function text(number) return string.format('%.0f', number) end
-- Of a generation of ids.
local span = math.max(math.floor(remember / 2), 1000)
if redis.call('EXISTS', KEYS[1]) == 0 then
  if ARGV[7] ~= 'make' then return '' end
  redis.call('HSET', KEYS[1], 'v', ARGV[1], 'inc', ARGV[2], 'secret', ARGV[3], 'level', ARGV[4],
             'horizon', '0', 'made', text(@clock@), 'span', text(span), 'remember', text(remember),
             'skew', text(skew))
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
local ours = scope[1] == ARGV[1] and scope[2] == ARGV[4]
-- One of an earlier version has no times: it takes those of its first opening.
local longer = remember >= tonumber(scope[6] or 0) and skew >= tonumber(scope[7] or 0)
if ours and ARGV[7] ~= 'none' and (longer or ARGV[7] == 'replace') then
  -- Generations have numbers by their span. A slice keeps its end, or gets a later one.
  local old = tonumber(scope[3])
  local slices = span ~= old and redis.call('HGETALL', KEYS[1]:sub(1, -6) .. 's') or {}
  for i = 1, #slices, 2 do
    local generation, rest = slices[i + 1]:match('^(%d+)(:.*)$')
    local last = (tonumber(generation) + 1) * old - 1
    redis.call('HSET', KEYS[1]:sub(1, -6) .. 's', slices[i],
               text(math.floor(last / span)) .. rest)
  end
  redis.call('HSET', KEYS[1], 'remember', text(remember), 'skew', text(skew), 'span', text(span))
  scope = read()
end
return table.concat({scope[1], scope[2], scope[6] or '0', scope[7] or '0', scope[4], scope[5]},
                    '\n')
