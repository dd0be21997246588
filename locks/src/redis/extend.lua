-- SPDX-License-Identifier: Apache-2.0
-- After: begin.lua extend_only.lua state.lua
local answer = 0
for _, holder in ipairs(holders) do
  if holder[1] == ARGV[1] then
    holder[8] = tonumber(ARGV[2])
    holder[3] = now + holder[8]
    answer = 1 + holder[5]
  end
end
if answer > 0 or changed then write() end
if dropped then wake() end
return answer
