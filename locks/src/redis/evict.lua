-- SPDX-License-Identifier: Apache-2.0
-- After: begin.lua state.lua
local held = false
for i, holder in ipairs(holders) do
  if holder[4] == tonumber(ARGV[1]) and holder[7] == tonumber(ARGV[2]) then
    table.remove(holders, i)
    held = true
    break
  end
end
if held or changed then
  write()
  wake()
end
return held and 1 or 0
