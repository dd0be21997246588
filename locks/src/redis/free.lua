-- SPDX-License-Identifier: Apache-2.0
-- After: begin.lua free_only.lua state.lua
local held = remove(holders, 1, ARGV[1])
local waited = remove(waiters, 1, ARGV[1])
if held or waited or changed then
  write()
  wake()
end
return held and 1 or 0
