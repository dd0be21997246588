// SPDX-License-Identifier: Apache-2.0
// How locks are written for a Redis, and read from it: tokens, times, answers; and what a server
// must be like to keep them. For one Redis, and for several that decide by majority.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/fence.h"
#include "oncemq/base/token.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// 16 bytes: its process and its attempt, highest byte first.
std::string RedisToken(const Token& token);
// Empty: it is none.
Token TokenOfRedis(std::string_view bytes);
// One letter.
std::string_view RedisMode(LockMode mode);
LockMode ModeOfRedis(std::string_view letter);
std::string RedisMicros(milliseconds time);
// In milliseconds. A key outlives its hold by a minute.
std::string RedisKept(milliseconds lease);
milliseconds RedisMillis(int64_t micros);
Fence FenceOf(const RedisReply& epoch, const RedisReply& token);
// Names behind `prefix` that are held or waited for: in the order of their bytes, those behind
// `after`, at most `limit`. Looks at every key of the server.
Result<std::vector<std::string>> RedisHeldNames(RedisClient& client, const std::string& prefix,
                                                std::string_view after, size_t limit);

}  // namespace oncemq
