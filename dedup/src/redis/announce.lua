-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua
-- Keeps announcements, all or none. ARGV: 4 their number in the process; from 5, for each: the
-- partition; the ownership, or 0; from; to; offset; metadata; 1: the window has all ids of the
-- partition. One that comes after a later one of its owner changes nothing: its caller gave up.
-- The answer tells of another run of the server that was found: when; for how long, in us, changes
-- have been made that may be missing then; and for how long all partitions have been whole, or
-- nothing. A line each.
for i = 5, #ARGV, 7 do
  local own = tonumber(ARGV[i + 1])
  if redis.call('EXISTS', base .. 'p:' .. ARGV[i]) == 0 or
     (own ~= 0 and owner(ARGV[i]).own ~= own) then
    return 'F'
  end
end
local run = note_run()
for i = 5, #ARGV, 7 do
  local key = base .. 'p:' .. ARGV[i]
  if is_new(key, ARGV[i + 1], ARGV[4]) then
    redis.call('HSET', key, 'from', ARGV[i + 2], 'to', ARGV[i + 3], 'at', ARGV[i + 4],
               'meta', ARGV[i + 5], 'told', ARGV[4])
    if ARGV[i + 6] == '1' then redis.call('HSET', key, 'run', run, 'whole', text(now)) end
  end
end
local news = redis.call('HMGET', KEYS[1], 'changed', 'since', 'until', 'made')
if news[1] and not news[3] and not any_lacks(run) then
  news[3] = text(now)
  redis.call('HSET', KEYS[1], 'until', news[3])
end
counted()
local head = 'W' .. struct.pack('>I8', count)
if not news[1] then return head end
local since = math.max(tonumber(news[2]), tonumber(news[4] or 0))
return head .. table.concat({news[1], text(math.max(now - since, 0)),
                             news[3] and text(math.max(now - tonumber(news[3]), 0)) or ''}, '\n')
