-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua
-- Tells the history of a partition. ARGV: 4 topic; 5 number of the partition; 6 the owner of the
-- scope. The answer: source; from; to; the offset that was announced; 1: the server was started
-- again or replaced since it was told last that it has all ids; for how long, in us, changes have
-- been made that may be missing then; the server's time; the metadata that was announced. A line
-- each.
local owned_by = redis.call('HGET', KEYS[1], 'owner')
if owned_by and owned_by ~= ARGV[6] then return 'O' .. owned_by end
if not owned_by then redis.call('HSET', KEYS[1], 'owner', ARGV[6]) end
local source = redis.call('HGET', base .. 'topics', ARGV[4])
if not source then
  source = text(redis.call('HINCRBY', KEYS[1], 'next', 1) - 1)
  redis.call('HSET', base .. 'topics', ARGV[4], source)
end
local key = base .. 'p:' .. source .. ':' .. ARGV[5]
local known = redis.call('HMGET', key, 'from', 'to', 'at', 'meta', 'run', 'whole')
local doubt = known[3] and known[5] ~= server_run()
local since = known[6] or redis.call('HGET', KEYS[1], 'made') or now
if not known[2] then redis.call('HSET', key, 'to', '0') end
counted()
return 'K' .. struct.pack('>I8', count) ..
       table.concat({source, known[1] or '0', known[2] or '0', known[3] or '-1',
                     doubt and '1' or '0', text(math.max(now - since, 0)), text(now),
                     known[4] or ''},
                    '\n')
