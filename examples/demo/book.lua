-- SPDX-License-Identifier: Apache-2.0
-- Books a payment once: ARGV is its id, the worker, and the posting. Returns the worker that booked
-- it, now or before.
local id = KEYS[1] .. ':' .. ARGV[1]
local by = redis.call('GET', id)
if by then return by end
redis.call('SET', id, ARGV[2])
redis.call('RPUSH', KEYS[1], ARGV[3])
return ARGV[2]
