// SPDX-License-Identifier: Apache-2.0
#include "redis_scripts.h"

#include <string>

#include "oncemq/base/mutant.h"

namespace oncemq {
namespace {

// What a key holds is told by its first byte (docs/formats.md):
//   -   idle: the last fence
//   !   one holder, and nobody waits: most names, most of the time. No list is made of it.
//   else {fence, holders, waiters}, as MessagePack
// A holder is {token, mode, until, fence, asked back, who}, a waiter {token, mode, until, channel,
// who}. Numbers stay below 2^53, so Lua's are exact.
constexpr char kNow[] = R"lua(
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local raw = redis.call('GET', KEYS[1])
local form = raw and raw:byte() or 45
)lua";

constexpr char kRead[] = R"lua(
local fence, holders, waiters, dropped = 0, {}, {}, false
local function alive(all)
  local left = {}
  for _, party in ipairs(all) do
    if party[3] > now then left[#left + 1] = party else dropped = true end
  end
  return left
end
if form == 33 then
  local last, number = struct.unpack('>dd', raw, 19)
  fence = number
  holders = alive({{raw:sub(2, 17), raw:sub(18, 18), last, number, 0, raw:sub(35)}})
elseif form ~= 45 then
  local state = cmsgpack.unpack(raw)
  fence, holders, waiters = state[1], alive(state[2]), alive(state[3])
elseif raw then
  fence = struct.unpack('>d', raw, 2)
end
)lua";

// An idle name keeps its fence for a minute, for clocks that are set back.
constexpr char kWrite[] = R"lua(
local function write()
  local last, state = now, nil
  for _, party in ipairs(holders) do last = math.max(last, party[3]) end
  for _, party in ipairs(waiters) do last = math.max(last, party[3]) end
  local one = holders[1]
  if not one and #waiters == 0 then
    state = '-' .. struct.pack('>d', fence)
  elseif #holders == 1 and #waiters == 0 and one[5] == 0 and one[4] == fence then
    state = '!' .. one[1] .. one[2] .. struct.pack('>dd', one[3], fence) .. one[6]
  else
    state = cmsgpack.pack({fence, holders, waiters})
  end
  redis.call('SET', KEYS[1], state, 'PX',
             string.format('%.0f', math.ceil((last - now) / 1000) + 60000))
end
local function holders_allow(mode)
  return #holders == 0 or (mode == 's' and holders[1][2] == 's')
end
local function waiters_allow(ahead, mode)
  if mode == 'x' then return ahead == 0 end
  for i = 1, ahead do
    if waiters[i][2] == 'x' then return false end
  end
  return true
end
local function wake()
  for i, waiter in ipairs(waiters) do
    if not holders_allow(waiter[2]) or not waiters_allow(i - 1, waiter[2]) then return end
    redis.pcall('PUBLISH', waiter[4], waiter[1])  -- a hint; some may not publish
  end
end
local function remove(all, column, value)
  for i, party in ipairs(all) do
    if party[column] == value then
      table.remove(all, i)
      return true
    end
  end
  return false
end
)lua";

// The short ways: an idle name is taken, and the only holder extends or frees.
constexpr char kAskIdle[] = R"lua(
if form == 45 then
  local fence = now
  if raw then fence = math.max(struct.unpack('>d', raw, 2) + 1, now) end
  redis.call('SET', KEYS[1], '!' .. ARGV[1] .. ARGV[2] ..
             struct.pack('>dd', now + ARGV[5], fence) .. ARGV[8], 'PX', ARGV[10])
  return {1, fence, 0}
end
)lua";

constexpr char kExtendOnly[] = R"lua(
if form == 33 and raw:sub(2, 17) == ARGV[1] then
  local last, fence = struct.unpack('>dd', raw, 19)
  if last > now then
    redis.call('SET', KEYS[1], raw:sub(1, 18) .. struct.pack('>dd', now + ARGV[2], fence) ..
               raw:sub(35), 'PX', ARGV[3])
    return 1
  end
end
)lua";

constexpr char kFreeOnly[] = R"lua(
if form == 33 and raw:sub(2, 17) == ARGV[1] then
  local last, fence = struct.unpack('>dd', raw, 19)
  if last > now then
    redis.call('SET', KEYS[1], '-' .. struct.pack('>d', fence), 'PX', 60000)
    return 1
  end
end
)lua";

constexpr char kAsk[] = R"lua(
local token, mode = ARGV[1], ARGV[2]
local lease, place = tonumber(ARGV[5]), tonumber(ARGV[6])
for _, holder in ipairs(holders) do
  if holder[1] == token then
    holder[3] = now + lease
    write()
    return {1, holder[4], 0}
  end
end
local at = #waiters + 1
for i, waiter in ipairs(waiters) do
  if waiter[1] == token then at = i end
end
local ahead = at - 1
if ARGV[4] == '1' and mode == 'x' then ahead = 0 end
local answer
if holders_allow(mode) and waiters_allow(ahead, mode) then
  table.remove(waiters, at)
  fence = math.max(fence + 1, now)
  holders[#holders + 1] = {token, mode, now + lease, fence, 0, ARGV[8]}
  write()
  answer = {1, fence, 0}
elseif ARGV[3] == '1' then
  if at > #waiters and #waiters >= tonumber(ARGV[9]) then return {3, 0, 0} end
  waiters[at] = {token, mode, now + place, ARGV[7], ARGV[8]}
  local again = holders[1] and holders[1][3] or now
  if at > 1 then
    again = waiters[at - 1][3]
  else
    for _, holder in ipairs(holders) do again = math.min(again, holder[3]) end
  end
  write()
  answer = {2, 0, again - now}
else
  answer = {0, 0, 0}
  if dropped then write() end
end
if dropped then wake() end
return answer
)lua";

constexpr char kExtend[] = R"lua(
local answer = 0
for _, holder in ipairs(holders) do
  if holder[1] == ARGV[1] then
    holder[3] = now + tonumber(ARGV[2])
    answer = 1 + holder[5]
  end
end
if answer > 0 or dropped then write() end
if dropped then wake() end
return answer
)lua";

constexpr char kFree[] = R"lua(
local held = remove(holders, 1, ARGV[1])
local waited = remove(waiters, 1, ARGV[1])
if held or waited or dropped then
  write()
  wake()
end
return held and 1 or 0
)lua";

constexpr char kAskBack[] = R"lua(
for _, holder in ipairs(holders) do holder[5] = 1 end
if #holders > 0 then write() end
return #holders
)lua";

constexpr char kEvict[] = R"lua(
local held = remove(holders, 4, tonumber(ARGV[1]))
if held or dropped then
  write()
  wake()
end
return held and 1 or 0
)lua";

constexpr char kLook[] = R"lua(
local seen = {}
for _, h in ipairs(holders) do seen[#seen + 1] = {'h', h[2], h[4], h[3] - now, h[6]} end
for _, w in ipairs(waiters) do seen[#seen + 1] = {'w', w[2], 0, w[3] - now, w[5]} end
return seen
)lua";

std::string Whole(const char* body, const char* short_way = "") {
  return std::string(kNow) + short_way + kRead + kWrite + body;
}

// The rules broken on purpose, in the server's language.
std::string Broken(std::string script) {
  const auto replace = [&](const char* what, const char* by) {
    if (const size_t at = script.find(what); at != std::string::npos) {
      script.replace(at, std::string(what).size(), by);
    }
  };
  if (ONCEMQ_MUTANT("redis-fence-is-a-counter")) {
    replace("local fence = now", "local fence = 1");
    replace("math.max(struct.unpack('>d', raw, 2) + 1, now)", "struct.unpack('>d', raw, 2) + 1");
  }
  if (ONCEMQ_MUTANT("redis-free-without-token")) {
    replace("form == 33 and raw:sub(2, 17) == ARGV[1]", "form == 33");
  }
  if (ONCEMQ_MUTANT("redis-ended-hold-revived")) {
    replace("if party[3] > now then", "if true then");
    replace("if last > now then", "if true then");
  }
  if (ONCEMQ_MUTANT("redis-wakes-all")) {
    replace(
        "if not holders_allow(waiter[2]) or not waiters_allow(i - 1, waiter[2]) then return end",
        "");
  }
  return script;
}

}  // namespace

RedisLockScripts::RedisLockScripts()
    : ask(Broken(Whole(kAsk, kAskIdle))),
      extend(Broken(Whole(kExtend, kExtendOnly))),
      free(Broken(Whole(kFree, kFreeOnly))),
      ask_back(Whole(kAskBack)),
      evict(Broken(Whole(kEvict))),
      look(Whole(kLook)) {}

}  // namespace oncemq
