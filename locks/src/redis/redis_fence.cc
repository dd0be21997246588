// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/redis_fence.h"

#include <array>
#include <cstdio>

#include "fence_begin_lua.h"
#include "fence_write_lua.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq {
namespace {

std::string TextOf(const Fence& fence) {
  std::array<char, 40> text{};
  const int length = std::snprintf(text.data(), text.size(), "%010u.%020llu", fence.epoch,
                                   static_cast<unsigned long long>(fence.token));
  return {text.data(), static_cast<size_t>(length)};
}

}  // namespace

struct RedisFence::Scripts {
  const RedisScript begin{kLockFenceBeginLua};
  const RedisScript write{kLockFenceWriteLua};
};

RedisFence::RedisFence(RedisClient& client, std::string key)
    : client_(client), key_(std::move(key)), scripts_(std::make_shared<Scripts>()) {}

Result<bool> RedisFence::Begin(const Lease& lease) const {
  if (const Status fit = CheckFenceOf(lease); !fit) {
    return fit.error();
  }
  const std::string fence = TextOf(lease.fence());
  const RedisCommand list{key_, fence};
  const auto replies = client_.Call(scripts_->begin, 1, {&list, 1});
  if (!replies) {
    return replies.error();
  }
  const RedisReply& reply = replies->front();
  if (reply.kind == RedisReply::Kind::kError) {
    return RedisError(reply.text);
  }
  return reply.integer == 1;
}

Result<std::optional<RedisReply>> RedisFence::Write(
    const Lease& lease, const std::vector<std::string_view>& command) const {
  if (const Status fit = CheckFenceOf(lease); !fit) {
    return fit.error();
  }
  const std::string fence = TextOf(lease.fence());
  RedisCommand list{key_, fence};
  list.insert(list.end(), command.begin(), command.end());
  auto replies = client_.Call(scripts_->write, 1, {&list, 1});
  if (!replies) {
    return replies.error();
  }
  RedisReply& reply = replies->front();
  if (reply.kind == RedisReply::Kind::kError) {
    return RedisError(reply.text);
  }
  const int64_t said = reply.list.empty() ? 0 : reply.list[0].integer;
  if (said == 2) {
    return Error{Code::kInvalid, Effect::kNone, "Begin() comes first, before anything is read"};
  }
  if (said != 1 || reply.list.size() < 2) {
    return std::optional<RedisReply>(said == 1 ? std::optional(RedisReply{}) : std::nullopt);
  }
  return std::optional(std::move(reply.list[1]));
}

}  // namespace oncemq
