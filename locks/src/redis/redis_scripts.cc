// SPDX-License-Identifier: Apache-2.0
#include "redis_scripts.h"

#include <string>

#include "ask_back_lua.h"
#include "ask_idle_lua.h"
#include "ask_lua.h"
#include "begin_lua.h"
#include "evict_lua.h"
#include "extend_lua.h"
#include "extend_only_lua.h"
#include "free_lua.h"
#include "free_only_lua.h"
#include "look_lua.h"
#include "oncemq/base/mutant.h"
#include "seal_lua.h"
#include "state_lua.h"
#include "tokens_lua.h"

namespace oncemq {
namespace {

std::string Whole(std::string_view body, std::string_view short_way = "") {
  std::string text(kLockBeginLua);
  return text.append(short_way).append(kLockStateLua).append(body);
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
    : ask(Broken(Whole(kLockAskLua, kLockAskIdleLua))),
      extend(Broken(Whole(kLockExtendLua, kLockExtendOnlyLua))),
      free(Broken(Whole(kLockFreeLua, kLockFreeOnlyLua))),
      ask_back(Whole(kLockAskBackLua)),
      evict(Broken(Whole(kLockEvictLua))),
      look(Whole(kLockLookLua)),
      tokens(Whole(kLockTokensLua)),
      seal(kLockSealLua) {}

}  // namespace oncemq
