-- SPDX-License-Identifier: Apache-2.0
-- After: begin.lua
-- Extends the hold of the only holder without a list of holders.
if form == 61 and raw:sub(2, 17) == ARGV[1] then
  if struct.unpack('>d', raw, 19) > now then
    redis.call('SET', KEYS[1], raw:sub(1, 18) .. struct.pack('>d', now + ARGV[2]) ..
               raw:sub(27, 38) .. struct.pack('>d', tonumber(ARGV[2])) .. raw:sub(47),
               'PX', ARGV[3])
    return 1
  end
end
