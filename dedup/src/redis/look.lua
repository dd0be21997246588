-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua
-- Reads ids, and grants claims of new ones at once. ARGV: 4 the horizon that the offers rest on;
-- 5 the lease in microseconds; 6 how many partitions; for each: its name, and the ownership that
-- the caller has; then for each id: its digest, and the marker of a claim without its times, or
-- nothing. A lease of the claim's own stands after its marker.
local partitions = tonumber(ARGV[6])
local grants = ARGV[4] == text(horizon)
local parts, digests, offers = {}, {}, {}
for i = 7, 5 + 2 * partitions, 2 do
  parts[#parts + 1] = owner_bytes(ARGV[i])
  if owner(ARGV[i]).own ~= tonumber(ARGV[i + 1]) then grants = false end
end
for i = 7 + 2 * partitions, #ARGV, 2 do
  digests[#digests + 1] = ARGV[i]
  offers[#offers + 1] = ARGV[i + 1]
end
local markers = markers_of(digests)
if not markers then return strange() end
local lease = tonumber(ARGV[5])
local granted = 0
for i, digest in ipairs(digests) do
  local slice, record
  if not markers[i] then slice, record = find(digest) end
  if not markers[i] and not slice and grants and offers[i] ~= '' then
    local offer = offers[i]
    local ends = now + (#offer > 66 and struct.unpack('>I8', offer, 67) or lease)
    redis.call('SET', base .. 'i:' .. digest,
               offer:sub(1, 30) .. struct.pack('>I8I8', now, ends) .. offer:sub(31, 66))
    granted = granted + 1
    parts[#parts + 1] = '\3'
  else
    parts[#parts + 1] = state(digest, markers[i], slice, record)
  end
end
if granted > 0 then
  redis.call('HINCRBY', KEYS[1], 'open', granted)
  counted()
else
  looked()
end
return answer(parts)
