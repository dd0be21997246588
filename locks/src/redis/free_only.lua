-- SPDX-License-Identifier: Apache-2.0
-- After: begin.lua
-- Frees the name of the only holder without a list of holders.
if form == 61 and raw:sub(2, 17) == ARGV[1] then
  local last, fence = struct.unpack('>dd', raw, 19)
  if last > now then
    redis.call('SET', KEYS[1], '-' .. struct.pack('>d', fence), 'PX', 60000)
    return 1
  end
end
