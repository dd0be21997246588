// SPDX-License-Identifier: Apache-2.0
#include "redis_scripts.h"

#include <string>

#include "begin_lua.h"
#include "evict_lua.h"
#include "extend_lua.h"
#include "extend_only_lua.h"
#include "free_lua.h"
#include "free_only_lua.h"
#include "look_lua.h"
#include "recall_lua.h"
#include "request_idle_lua.h"
#include "request_lua.h"
#include "seal_lua.h"
#include "state_lua.h"
#include "tokens_lua.h"

namespace oncemq {
namespace {

std::string CompleteScript(std::string_view body, std::string_view short_way = "") {
  std::string text(kLockBeginLua);
  return text.append(short_way).append(kLockStateLua).append(body);
}

}  // namespace

RedisLockScripts::RedisLockScripts()
    : request(CompleteScript(kLockRequestLua, kLockRequestIdleLua)),
      extend(CompleteScript(kLockExtendLua, kLockExtendOnlyLua)),
      free(CompleteScript(kLockFreeLua, kLockFreeOnlyLua)),
      recall(CompleteScript(kLockRecallLua)),
      evict(CompleteScript(kLockEvictLua)),
      look(CompleteScript(kLockLookLua)),
      tokens(CompleteScript(kLockTokensLua)),
      seal(kLockSealLua) {}

}  // namespace oncemq
