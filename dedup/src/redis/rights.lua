-- SPDX-License-Identifier: Apache-2.0
-- The commands that this user may not run on our keys, each once, in one text; or the error of a
-- server without room. ARGV: 1 1: partitions own their ids.
local key = KEYS[1]:sub(1, -6) .. 'probe'
local lacks = {}
local commands = {
  {'TIME'}, {'SET', key, '', 'PX', 60000}, {'GET', key}, {'MGET', key}, {'EXISTS', key},
  {'DEL', key}, {'HSET', key, 'f', '1'}, {'HGET', key, 'f'}, {'HMGET', key, 'f'},
  {'HGETALL', key}, {'HINCRBY', key, 'f', 1}, {'HDEL', key, 'f'}, {'ZADD', key, 1, 'm'},
  {'ZRANGE', key, 0, 0}, {'ZRANGEBYSCORE', key, 0, 1}, {'ZREM', key, 'm'},
}
local stream = key .. 's'
if ARGV[1] == '1' then
  commands[#commands + 1] = {'XADD', stream, '1-1', 'f', 'v'}
  commands[#commands + 1] = {'XRANGE', stream, '-', '+'}
  commands[#commands + 1] = {'XDEL', stream, '1-1'}
end
commands[#commands + 1] = {'UNLINK', key, stream}
for _, command in ipairs(commands) do
  local answer = redis.pcall(unpack(command))
  local refused = type(answer) == 'table' and answer.err
  if refused and refused:find('OOM') then return redis.error_reply(refused) end
  -- In the words of Redis 6, Redis 7 and Valkey 9.
  if refused and (refused:find('NOPERM') or refused:find('The user executing') or
                  refused:find('ACL failure')) then
    lacks[#lacks + 1] = refused:find(' key') and command[1] .. ' (on these keys)' or command[1]
  end
end
return table.concat(lacks, ', ')
