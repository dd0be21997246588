-- SPDX-License-Identifier: Apache-2.0
-- After: begin.lua state.lua
local seen = {}
local function short(who) return tostring(who):sub(1, 512) end
for _, h in ipairs(holders) do
  seen[#seen + 1] = {'h', h[2], h[4], h[3] - now, short(h[6]), h[7]}
end
for _, w in ipairs(waiters) do seen[#seen + 1] = {'w', w[2], 0, w[3] - now, short(w[5]), 0} end
return seen
