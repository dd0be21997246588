-- SPDX-License-Identifier: Apache-2.0
-- After: begin.lua
-- Reads holders and waiters, and writes them. An idle name keeps its fence for a minute, for clocks
-- that are set back.
local fence, holders, waiters, dropped, changed = 0, {}, {}, false, false
local function alive(all, lease_at)
  local left = {}
  for _, party in ipairs(all) do
    local lease = party[lease_at]
    if type(lease) == 'number' and lease > 0 and party[3] > now + lease then
      party[3] = now + lease  -- the clock was set back
      changed = true
    end
    if party[3] > now then left[#left + 1] = party else dropped = true end
  end
  changed = changed or dropped
  return left
end
if form == 61 or form == 33 then
  local last, number, epoch = struct.unpack('>ddI4', raw, 19)
  local lease, who = 0, raw:sub(39)
  if form == 61 then lease, who = struct.unpack('>d', raw, 39), raw:sub(47) end
  fence = number
  holders = alive({{raw:sub(2, 17), raw:sub(18, 18), last, number, 0, who, epoch, lease}}, 8)
elseif form ~= 45 then
  local good, state = pcall(cmsgpack.unpack, raw)
  if not good or type(state) ~= 'table' or not ours(state[1]) or type(state[2]) ~= 'table' or
     type(state[3]) ~= 'table' then
    return strange()
  end
  fence, holders, waiters = state[1], alive(state[2], 8), alive(state[3], 7)
elseif raw then
  fence = struct.unpack('>d', raw, 2)
end
local function write()
  local last, state = now
  for _, party in ipairs(holders) do last = math.max(last, party[3]) end
  for _, party in ipairs(waiters) do last = math.max(last, party[3]) end
  local one = holders[1]
  if not one and #waiters == 0 then
    state = '-' .. struct.pack('>d', fence)
  elseif #holders == 1 and #waiters == 0 and one[5] == 0 and one[4] == fence then
    state = '=' .. one[1] .. one[2] ..
            struct.pack('>ddI4d', one[3], fence, one[7], one[8] or 0) .. one[6]
  else
    state = cmsgpack.pack({fence, holders, waiters})
  end
  redis.call('SET', KEYS[1], state, 'PX',
             string.format('%.0f', math.ceil((last - now) / 1000) + 60000))
end
local function may_go(ahead, mode, limit, barges)
  if #holders > 0 and holders[1][2] ~= mode then return false end
  local before, least = #holders, limit
  if mode == 'x' and barges then return before == 0 end
  for i = 1, ahead do
    if waiters[i][2] ~= mode then return false end
    if not barges then
      before = before + 1
      if mode == 'c' then least = math.min(least, waiters[i][6]) end
    end
  end
  if mode == 'c' then return before < least end
  return mode == 's' or before == 0
end
local function able()
  for i, waiter in ipairs(waiters) do
    if not may_go(i - 1, waiter[2], waiter[6]) then return i - 1 end
  end
  return #waiters
end
local function wake(from)
  for i = from or 1, able() do
    redis.pcall('PUBLISH', waiters[i][4], waiters[i][1])  -- a hint; some may not publish
  end
end
local function remove(all, column, value)
  for i, party in ipairs(all) do
    if party[column] == value then
      table.remove(all, i)
      return true
    end
  end
  return false
end
