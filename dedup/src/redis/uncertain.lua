-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua
-- Records uncertain calls. ARGV: 4 for how long a record is kept, in ms; then for each call: the
-- field; the id; its coordinates; the attempt. A record: length of the id 2, id, then for each
-- message: coordinates 16, first and last call 8 each, in ms, attempt 4; the last 64 of an id.
local wall = math.floor(now / 1000)
local old = redis.call('ZRANGEBYSCORE', base .. 'ut', '-inf', text(wall - ARGV[4]), 'LIMIT', 0, 100)
for _, field in ipairs(old) do
  redis.call('HDEL', base .. 'u', field)
  redis.call('ZREM', base .. 'ut', field)
end
for i = 5, #ARGV, 4 do
  local field, id, at, attempt = ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])
  local head = struct.pack('>I2', #id) .. id
  local row, messages, first = redis.call('HGET', base .. 'u', field) or head, '', wall
  for from = math.max(#head + 1, #row - 36 * 64 + 37), #row, 36 do
    local message = row:sub(from, from + 35)
    if message:sub(1, 16) == at then
      first = struct.unpack('>I8', message, 17)
      attempt = math.max(attempt, (struct.unpack('>I4', message, 33)))
    else
      messages = messages .. message
    end
  end
  messages = messages .. at .. struct.pack('>I8I8I4', first, wall, attempt)
  redis.call('HSET', base .. 'u', field, head .. messages)
  redis.call('ZADD', base .. 'ut', text(wall), field)
end
counted()
return 'W' .. struct.pack('>I8', count)
