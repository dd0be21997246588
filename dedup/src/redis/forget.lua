-- SPDX-License-Identifier: Apache-2.0
-- After: run.lua preamble.lua filing.lua
-- By an operator's hand: finished, parked and handed ids become new. ARGV: 4 ids in a bucket, then
-- the digests. The answer has a 1 for each that went.
local digests = {}
for i = 5, #ARGV do digests[#digests + 1] = ARGV[i] end
local markers = markers_of(digests)
if not markers then return strange() end
local gone, changed = {}, false
for i, digest in ipairs(digests) do
  local slice, record
  if not markers[i] then slice, record = find(digest) end
  local goes = slice ~= nil or (markers[i] and markers[i]:byte() > 1) or false
  if slice then
    unfile(slice, digest, record)
  elseif goes then
    redis.call('DEL', base .. 'i:' .. digest)
    if markers[i]:byte() > 2 then parked = parked - 1 end
  end
  changed = changed or goes
  gone[i] = goes and '1' or '0'
end
if changed then changed_ids() end
return 'W' .. struct.pack('>I8', count) .. table.concat(gone)
