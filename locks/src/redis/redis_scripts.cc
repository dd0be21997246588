// SPDX-License-Identifier: Apache-2.0
#include "redis_scripts.h"

#include <string>

#include "oncemq/base/mutant.h"

namespace oncemq {
namespace {

// What a key holds is told by its first byte (docs/formats.md):
//   -   idle: the last fence
//   =   one holder, and nobody waits: most names, most of the time. No list is made of it.
//   !   the same as programs wrote it that kept no lease
//   else {fence, holders, waiters}, as MessagePack
// A holder is {token, mode, until, fence, asked back, who, epoch, lease}, a waiter {token, mode,
// until, channel, who, limit of a counted one, lease of its place}. The leases may be missing. The
// seal is a key of its own: an epoch in decimal digits. Numbers stay below 2^53, so Lua's are
// exact: anybody may write anything under a key, and a fence from there on would be given again.
constexpr char kNow[] = R"lua(
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local raw = redis.call('GET', KEYS[1])
local form = raw and raw:byte() or 45
local function ours(fence)
  return type(fence) == 'number' and fence >= 0 and fence < 9007199254740991
end
local function strange()
  return redis.error_reply('ONCEMQ what lies under the key of this lock is not ours')
end
if raw and form == 45 and (#raw ~= 9 or not ours(struct.unpack('>d', raw, 2))) then
  return strange()
elseif form == 61 or form == 33 then
  if #raw < (form == 61 and 46 or 38) then return strange() end
  local _, fence = struct.unpack('>dd', raw, 19)
  if not ours(fence) then return strange() end
end
)lua";

constexpr char kRead[] = R"lua(
local fence, holders, waiters, dropped, changed = 0, {}, {}, false, false
local function alive(all, lease_at)
  local left = {}
  for _, party in ipairs(all) do
    local lease = party[lease_at]
    if type(lease) == 'number' and lease > 0 and party[3] > now + lease then
      party[3] = now + lease  -- the clock was set back
      changed = true
    end
    if party[3] > now then left[#left + 1] = party else dropped = true end
  end
  changed = changed or dropped
  return left
end
if form == 61 or form == 33 then
  local last, number, epoch = struct.unpack('>ddI4', raw, 19)
  local lease, who = 0, raw:sub(39)
  if form == 61 then lease, who = struct.unpack('>d', raw, 39), raw:sub(47) end
  fence = number
  holders = alive({{raw:sub(2, 17), raw:sub(18, 18), last, number, 0, who, epoch, lease}}, 8)
elseif form ~= 45 then
  local good, state = pcall(cmsgpack.unpack, raw)
  if not good or type(state) ~= 'table' or not ours(state[1]) or type(state[2]) ~= 'table' or
     type(state[3]) ~= 'table' then
    return strange()
  end
  fence, holders, waiters = state[1], alive(state[2], 8), alive(state[3], 7)
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
    state = '=' .. one[1] .. one[2] ..
            struct.pack('>ddI4d', one[3], fence, one[7], one[8] or 0) .. one[6]
  else
    state = cmsgpack.pack({fence, holders, waiters})
  end
  redis.call('SET', KEYS[1], state, 'PX',
             string.format('%.0f', math.ceil((last - now) / 1000) + 60000))
end
local function may_go(ahead, mode, limit, barges)
  if #holders > 0 and holders[1][2] ~= mode then return false end
  local before, least = #holders, limit
  if mode == 'x' and barges then return before == 0 end
  for i = 1, ahead do
    if waiters[i][2] ~= mode then return false end
    if not barges then
      before = before + 1
      if mode == 'c' then least = math.min(least, waiters[i][6]) end
    end
  end
  if mode == 'c' then return before < least end
  return mode == 's' or before == 0
end
local function able()
  for i, waiter in ipairs(waiters) do
    if not may_go(i - 1, waiter[2], waiter[6]) then return i - 1 end
  end
  return #waiters
end
local function wake(from)
  for i = from or 1, able() do
    redis.pcall('PUBLISH', waiters[i][4], waiters[i][1])  -- a hint; some may not publish
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

constexpr char kAskSealed[] = R"lua(
local epoch = redis.call('GET', KEYS[2]) or '0'
if epoch ~= ARGV[11] then
  if #epoch > 10 or not epoch:match('^%d+$') or tonumber(epoch) > 4294967295 then
    return redis.error_reply('ONCEMQ the seal of this space is not ours')
  end
  return {4, 0, 0, tonumber(epoch)}
end
epoch = tonumber(epoch)
)lua";

// The short ways: an idle name is taken, and the only holder extends or frees.
constexpr char kAskIdle[] = R"lua(
if form == 45 then
  local fence = now
  if raw then fence = math.max(struct.unpack('>d', raw, 2) + 1, now) end
  redis.call('SET', KEYS[1], '=' .. ARGV[1] .. ARGV[2] ..
             struct.pack('>ddI4d', now + ARGV[5], fence, epoch, tonumber(ARGV[5])) .. ARGV[8],
             'PX', ARGV[10])
  return {1, fence, 0, epoch}
end
)lua";

constexpr char kExtendOnly[] = R"lua(
if form == 61 and raw:sub(2, 17) == ARGV[1] then
  if struct.unpack('>d', raw, 19) > now then
    redis.call('SET', KEYS[1], raw:sub(1, 18) .. struct.pack('>d', now + ARGV[2]) ..
               raw:sub(27, 38) .. struct.pack('>d', tonumber(ARGV[2])) .. raw:sub(47),
               'PX', ARGV[3])
    return 1
  end
end
)lua";

constexpr char kFreeOnly[] = R"lua(
if form == 61 and raw:sub(2, 17) == ARGV[1] then
  local last, fence = struct.unpack('>dd', raw, 19)
  if last > now then
    redis.call('SET', KEYS[1], '-' .. struct.pack('>d', fence), 'PX', 60000)
    return 1
  end
end
)lua";

constexpr char kAsk[] = R"lua(
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
)lua";

constexpr char kExtend[] = R"lua(
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
)lua";

constexpr char kFree[] = R"lua(
local held = remove(holders, 1, ARGV[1])
local waited = remove(waiters, 1, ARGV[1])
if held or waited or changed then
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
)lua";

constexpr char kLook[] = R"lua(
local seen = {}
local function short(who) return tostring(who):sub(1, 512) end
for _, h in ipairs(holders) do
  seen[#seen + 1] = {'h', h[2], h[4], h[3] - now, short(h[6]), h[7]}
end
for _, w in ipairs(waiters) do seen[#seen + 1] = {'w', w[2], 0, w[3] - now, short(w[5]), 0} end
return seen
)lua";

constexpr char kTokens[] = R"lua(
local seen = {}
for _, h in ipairs(holders) do seen[#seen + 1] = {h[1], h[3] - now, h[6]} end
return seen
)lua";

constexpr char kSealName[] = R"lua(
local epoch = redis.call('GET', KEYS[1]) or '0'
if #epoch > 10 or not epoch:match('^%d+$') or tonumber(epoch) > 4294967295 then
  return redis.error_reply('ONCEMQ the seal of this space is not ours')
end
epoch = tonumber(epoch)
if tonumber(ARGV[1]) > epoch then
  epoch = tonumber(ARGV[1])
  redis.call('SET', KEYS[1], ARGV[1])
end
return epoch
)lua";

std::string Whole(const char* body, const std::string& short_way = "") {
  return kNow + short_way + kRead + kWrite + body;
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
  if (ONCEMQ_MUTANT("redis-fence-of-waiters-is-a-counter")) {
    replace("math.max(fence + 1, now)", "fence + 1");
  }
  if (ONCEMQ_MUTANT("redis-free-without-token")) {
    replace("form == 61 and raw:sub(2, 17) == ARGV[1]", "form == 61");
  }
  if (ONCEMQ_MUTANT("redis-ended-hold-revived")) {
    replace("if party[3] > now then", "if true then");
    replace("if last > now then", "if true then");
    replace("if struct.unpack('>d', raw, 19) > now then", "if true then");
  }
  if (ONCEMQ_MUTANT("redis-idle-name-stays")) {
    replace("struct.pack('>d', fence), 'PX', 60000)", "struct.pack('>d', fence))");
  }
  if (ONCEMQ_MUTANT("redis-seal-not-looked-at")) {
    replace("if epoch ~= ARGV[11]", "if false");
  }
  if (ONCEMQ_MUTANT("redis-fence-beyond-numbers")) {
    replace("and fence < 9007199254740991", "");
  }
  if (ONCEMQ_MUTANT("redis-wakes-all")) {
    replace("if not may_go(i - 1, waiter[2], waiter[6]) then return i - 1 end", "");
  }
  if (ONCEMQ_MUTANT("redis-counted-without-a-limit")) {
    replace("return before < least", "return true");
  }
  if (ONCEMQ_MUTANT("redis-counted-passes-a-lower-limit")) {
    replace("least = math.min(least, waiters[i][6])", "");
  }
  if (ONCEMQ_MUTANT("redis-counted-grant-tells-nobody")) {
    replace("if mode == 'c' and at <= #waiters then", "if false then");
  }
  return script;
}

}  // namespace

RedisLockScripts::RedisLockScripts()
    : ask(Broken(Whole(kAsk, std::string(kAskSealed) + kAskIdle))),
      extend(Broken(Whole(kExtend, kExtendOnly))),
      free(Broken(Whole(kFree, kFreeOnly))),
      ask_back(Whole(kAskBack)),
      evict(Broken(Whole(kEvict))),
      look(Whole(kLook)),
      tokens(Whole(kTokens)),
      seal(kSealName) {}

}  // namespace oncemq
