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
#include "seal_lua.h"
#include "state_lua.h"
#include "tokens_lua.h"

namespace oncemq {
namespace {

std::string Whole(std::string_view body, std::string_view short_way = "") {
  std::string text(kLockBeginLua);
  return text.append(short_way).append(kLockStateLua).append(body);
}

}  // namespace

RedisLockScripts::RedisLockScripts()
    : request(Whole(kLockAskLua, kLockAskIdleLua)),
      extend(Whole(kLockExtendLua, kLockExtendOnlyLua)),
      free(Whole(kLockFreeLua, kLockFreeOnlyLua)),
      ask_back(Whole(kLockAskBackLua)),
      evict(Whole(kLockEvictLua)),
      look(Whole(kLockLookLua)),
      tokens(Whole(kLockTokensLua)),
      seal(kLockSealLua) {}

}  // namespace oncemq
