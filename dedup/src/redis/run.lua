-- SPDX-License-Identifier: Apache-2.0
-- Begins each script except rights.lua: the time, and the run of the server. KEYS[1]: the scope.
pcall(redis.replicate_commands)  -- of servers before 7
local now = @clock@
local base = KEYS[1]:sub(1, -6)
local function text(number) return string.format('%.0f', number) end
-- Of this process of the server, as the master of its replicas: another one, or this one after it
-- was a replica, may have begun with less. A master without replicas for an hour changes it too.
local function server_run()
  return (redis.call('INFO', 'server'):match('run_id:(%x+)') or '') .. '-' ..
         (redis.call('INFO', 'replication'):match('master_replid:(%x+)') or '')
end
-- Whether a partition was announced, and never as whole in this run.
local function any_lacks(run)
  for _, partition in ipairs(redis.call('ZRANGE', base .. 'w', 0, -1)) do
    local row = redis.call('HMGET', base .. 'p:' .. partition, 'at', 'run')
    if row[1] and row[2] ~= run then return true end
  end
  return false
end
-- Keeps the run that this script finds. A store has all that was written before what it has, so
-- another run lacks nothing that was older than `seen`. A second loss prolongs an unended one.
local function note_run()
  local run = server_run()
  local kept = redis.call('HMGET', KEYS[1], 'run', 'seen', 'since', 'until')
  if kept[1] and kept[1] ~= run then
    local goes_on = kept[3] and not kept[4]
    redis.call('HSET', KEYS[1], 'since', goes_on and kept[3] or kept[2], 'changed', text(now))
    redis.call('HDEL', KEYS[1], 'until')
    if not any_lacks(run) then redis.call('HSET', KEYS[1], 'until', text(now)) end
  end
  redis.call('HSET', KEYS[1], 'run', run, 'seen', text(now))
  return run
end
