-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua filing.lua
-- Completes or releases open ids by their tokens, and reads the others. ARGV: 4 ids in a bucket;
-- then for each id: its digest; the token, or nothing: it is only read; flags of the record, or
-- none: it is released; the record after the fingerprint; the result; its time in ms, or nothing;
-- partition, or nothing; offset, or without a partition for how long it is kept, in microseconds
-- (0: for ever).
local digests = {}
for i = 5, #ARGV, 8 do digests[#digests + 1] = ARGV[i] end
local markers = markers_of(digests)
if not markers then return strange() end
local parts, gone = {}, {}
for i, digest in ipairs(digests) do
  local at = 8 * i - 3
  local token, flags = ARGV[at + 1], ARGV[at + 2]
  local marker, slice, record = markers[i], nil, nil
  local mine = marker and token ~= '' and marker:byte() == 1 and marker:sub(3, 18) == token
  -- A release of an uncertain claim, or of a later attempt than the first, is the judge's.
  if mine and flags == '' and (marker:byte(2) ~= 1 or marker:sub(47, 50) ~= '\0\0\0\1') then
    mine = false
  end
  if mine then
    local whole = flags .. marker:sub(19, 22) .. ARGV[at + 3]
    local alone = flags ~= '' and ARGV[at + 6] == ''
    if alone then
      local time = tonumber(ARGV[at + 7])
      keep(digest, whole, time == 0 and 0 or now + time, ARGV[at + 4])
    elseif flags ~= '' then
      -- As the judge files it: by the latest time that is known, never of the future.
      local wall = math.floor(now / 1000)
      local filed = math.min(tonumber(ARGV[at + 5]) or wall, wall)
      local claimed = struct.unpack('>i8', marker, 75)
      if claimed < 0 then claimed = wall end
      file(digest, whole, math.max(filed, math.min(claimed, wall)), ARGV[at + 4], ARGV[at + 6],
           ARGV[at + 7])
    end
    if not alone then gone[#gone + 1] = base .. 'i:' .. digest end
    open = open - (marker:byte(2) > 0 and 1 or 0)
    parts[#parts + 1] = '\3'
  else
    if not marker then slice, record = find(digest) end
    parts[#parts + 1] = state(digest, marker, slice, record)
  end
end
if #gone > 0 then redis.call('DEL', unpack(gone)) end
if open ~= 0 then changed_ids() else looked() end
return answer(parts)
