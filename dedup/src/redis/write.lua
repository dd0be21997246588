-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua filing.lua
-- Writes ids that are still as they were read. ARGV: 4 ids in a bucket; 5 the horizon that was
-- read; 6 how many partitions; for each: its name, and the ownership that was read; then for each
-- id: its digest; its marker, or nothing; the slice and the record where it is finished, or
-- nothing; its new marker, or nothing; its new record, or nothing; its time in ms; result;
-- partition, or nothing; offset, or without a partition when it ends, in microseconds (0: never).
-- The answer has a 1 for each that was written; none at all if an ownership or
-- the horizon differs.
local partitions = tonumber(ARGV[6])
if ARGV[5] ~= text(horizon) then return 'A' end
for i = 7, 5 + 2 * partitions, 2 do
  if owner(ARGV[i]).own ~= tonumber(ARGV[i + 1]) then return 'A' end
end
local first, digests = 7 + 2 * partitions, {}
for i = first, #ARGV, 10 do digests[#digests + 1] = ARGV[i] end
local markers = markers_of(digests)
if not markers then return strange() end
-- A marker without flags is held by nobody: it only counts attempts that have failed, and goes with
-- its TTL.
local function is_open(marker) return marker:byte() == 1 and marker:byte(2) > 0 end
local function is_count(marker) return marker:byte() == 1 and marker:byte(2) == 0 end
local counts_for = text(math.max(kept or 604800000, 1))
local written, changed = {}, false
for i, digest in ipairs(digests) do
  local at = first + 10 * (i - 1)
  local was, marker, record = markers[i] or '', ARGV[at + 4], ARGV[at + 5]
  local slice, found
  local same = was == ARGV[at + 1]
  if same and was == '' then
    slice, found = find(digest)
    same = (slice and text(slice.id) or '') == ARGV[at + 2] and (found or '') == ARGV[at + 3]
  end
  if same then
    if slice then unfile(slice, digest, found) end
    local alone = record ~= '' and ARGV[at + 8] == ''
    if alone then
      keep(digest, record, tonumber(ARGV[at + 9]), ARGV[at + 7])
    elseif record ~= '' then
      file(digest, record, tonumber(ARGV[at + 6]), ARGV[at + 7], ARGV[at + 8], ARGV[at + 9])
    end
    if is_count(marker) then
      redis.call('SET', base .. 'i:' .. digest, marker, 'PX', counts_for)
    elseif marker ~= '' then
      redis.call('SET', base .. 'i:' .. digest, marker)
    elseif was ~= '' and not alone then
      redis.call('DEL', base .. 'i:' .. digest)
    end
    local before, after = was:byte() or 0, marker:byte() or 0
    open = open + (is_open(marker) and 1 or 0) - (is_open(was) and 1 or 0)
    parked = parked + (after > 2 and 1 or 0) - (before > 2 and 1 or 0)
    changed = true
  end
  written[i] = same and '1' or '0'
end
if changed then changed_ids() end
return 'W' .. struct.pack('>I8', count) .. table.concat(written)
