-- SPDX-License-Identifier: Apache-2.0
-- After: begin.lua
-- Refuses an epoch that is not the seal's, and takes an idle name without a list of holders.
local epoch = redis.call('GET', KEYS[2]) or '0'
if epoch ~= ARGV[11] then
  if #epoch > 10 or not epoch:match('^%d+$') or tonumber(epoch) > 4294967295 then
    return redis.error_reply('ONCEMQ the seal of this space is not ours')
  end
  return {4, 0, 0, tonumber(epoch)}
end
epoch = tonumber(epoch)
if form == 45 then
  local fence = now
  if raw then fence = math.max(struct.unpack('>d', raw, 2) + 1, now) end
  redis.call('SET', KEYS[1], '=' .. ARGV[1] .. ARGV[2] ..
             struct.pack('>ddI4d', now + ARGV[5], fence, epoch, tonumber(ARGV[5])) .. ARGV[8],
             'PX', ARGV[10])
  return {1, fence, 0, epoch}
end
