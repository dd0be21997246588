-- SPDX-License-Identifier: Apache-2.0
-- Runs a command of the caller where its fence is the last one.
local last = redis.call('GET', KEYS[1])
if not last or last < ARGV[1] then return {2} end
if last > ARGV[1] then return {0} end
return {1, redis.call(unpack(ARGV, 2))}
