-- SPDX-License-Identifier: Apache-2.0
-- Keeps the fence as text that is ordered as fences are, unless a higher one is there.
local last = redis.call('GET', KEYS[1])
if last and last > ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1
