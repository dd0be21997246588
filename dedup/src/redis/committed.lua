-- SPDX-License-Identifier: Apache-2.0
-- How far commits have come. ARGV from 4, for each: the partition; the ownership; the frontier; the
-- watermark in ms, or nothing. The answer has a 1 for each that was kept.
local kept = {}
for i = 4, #ARGV, 4 do
  local own = tonumber(ARGV[i + 1])
  local mine = own ~= 0 and owner(ARGV[i]).own == own
  if mine then
    -- A stamp of the future must not make everything look old (rule 22).
    local watermark = tonumber(ARGV[i + 3]) or -1
    watermark = math.min(watermark, math.floor(now / 1000))
    redis.call('HSET', base .. 'p:' .. ARGV[i], 'frontier', ARGV[i + 2],
               'watermark', text(watermark))
    redis.call('ZADD', base .. 'w', text(watermark), ARGV[i])
  end
  kept[#kept + 1] = mine and '1' or '0'
end
counted()
return 'W' .. struct.pack('>I8', count) .. table.concat(kept)
