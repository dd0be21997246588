-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua
-- How far commits have come. ARGV from 4, for each: the partition; the ownership; the frontier; the
-- watermark in ms, or nothing: the known one stays then, unless the frontier has gone back. The
-- answer: for how long ids are kept, in ms, and a 1 for each that was taken.
local taken = {}
for i = 4, #ARGV, 4 do
  local own = tonumber(ARGV[i + 1])
  local mine = own ~= 0 and owner(ARGV[i]).own == own
  if mine then
    -- A stamp of the future must not make everything look old (rule 22).
    local row = base .. 'p:' .. ARGV[i]
    local before = redis.call('HMGET', row, 'frontier', 'watermark', 'latest')
    local back = tonumber(ARGV[i + 2]) < tonumber(before[1] or 0)
    local watermark = tonumber(ARGV[i + 3]) or not back and tonumber(before[2]) or -1
    watermark = math.min(watermark, math.floor(now / 1000))
    -- After a new assignment one old stamp may tell a lower one than before.
    local known = math.max(tonumber(before[2] or -1), tonumber(before[3] or -1))
    redis.call('HSET', row, 'frontier', ARGV[i + 2], 'watermark', text(watermark),
               'latest', text(math.max(watermark, known)))
    if known < 0 and watermark >= 0 then redis.call('HSET', row, 'first', text(watermark)) end
    redis.call('ZADD', base .. 'w', text(watermark), ARGV[i])
  end
  taken[#taken + 1] = mine and '1' or '0'
end
counted()
return 'W' .. struct.pack('>I8I8', count, kept or 0) .. table.concat(taken)
