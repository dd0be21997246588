-- SPDX-License-Identifier: Apache-2.0
-- Begins each script over the key of a name: the time, and the state under the key. Its first byte
-- tells the form (docs/formats.md):
--   -   idle: the last fence
--   =   one holder and no waiter: most names, most of the time. No list is made of it.
--   !   the same, from programs that kept no lease
--   else {fence, holders, waiters}, as MessagePack
-- A holder is {token, mode, until, fence, asked back, who, epoch, lease}. A waiter is {token, mode,
-- until, channel, who, limit of a counted one, lease of its place}. The leases may be missing.
-- The seal is a key of its own: an epoch in decimal digits. Numbers stay below 2^53, where Lua is
-- exact. Any user may write under a key, and a greater fence from there would be given twice.
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local raw = redis.call('GET', KEYS[1])
local form = raw and raw:byte() or 45
local function ours(fence)
  return type(fence) == 'number' and fence >= 0 and fence < 9007199254740991
end
local function strange()
  return redis.error_reply('ONCEMQ what lies under the key of this lock is not ours')
end
if raw and form == 45 and (#raw ~= 9 or not ours(struct.unpack('>d', raw, 2))) then
  return strange()
elseif form == 61 or form == 33 then
  if #raw < (form == 61 and 46 or 38) then return strange() end
  local _, fence = struct.unpack('>dd', raw, 19)
  if not ours(fence) then return strange() end
end
