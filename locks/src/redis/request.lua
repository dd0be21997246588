-- SPDX-License-Identifier: Apache-2.0
-- After: begin.lua request_idle.lua state.lua
local token, mode, limit, barges = ARGV[1], ARGV[2], tonumber(ARGV[12]), ARGV[4] == '1'
local lease, place = tonumber(ARGV[5]), tonumber(ARGV[6])
for _, holder in ipairs(holders) do
  if holder[1] == token then
    holder[3], holder[8] = now + lease, lease
    write()
    return {1, holder[4], 0, holder[7]}
  end
end
local at = #waiters + 1
for i, waiter in ipairs(waiters) do
  if waiter[1] == token then at = i end
end
local answer, from
if may_go(at - 1, mode, limit, barges) then
  if mode == 'c' and at <= #waiters then
    from = able()  -- as many were told; who waited with a low limit keeps others back no longer
    if at > from then from = from + 1 end
  end
  table.remove(waiters, at)
  fence = math.max(fence + 1, now)
  holders[#holders + 1] = {token, mode, now + lease, fence, 0, ARGV[8], epoch, lease}
  write()
  answer = {1, fence, 0, epoch}
elseif ARGV[3] == '1' then
  if at > #waiters and #waiters >= tonumber(ARGV[9]) then return {3, 0, 0, 0} end
  waiters[at] = {token, mode, now + place, ARGV[7], ARGV[8], limit, place}
  local again = holders[1] and holders[1][3] or now
  if at > 1 then
    again = waiters[at - 1][3]
  else
    for _, holder in ipairs(holders) do again = math.min(again, holder[3]) end
  end
  write()
  answer = {2, 0, again - now, 0}
else
  answer = {0, 0, 0, 0}
  if changed then write() end
end
if dropped or from then wake(not dropped and from or 1) end
return answer
