// SPDX-License-Identifier: Apache-2.0
// RedisFence: effects in Redis that take no word of an earlier holder. A key of its own remembers
// the greatest fence; it is raised *before* what it protects is read, since a target that only
// refuses lower fences at the write loses the update of a holder that read too early.
//
//   const auto endpoint = ParseRedisEndpoint("redis://127.0.0.1:6379");  // redis_endpoint.h
//   const auto opened = endpoint ? RedisClient::Open(*endpoint) : endpoint.error();
//   if (!opened) return Reject{opened.error().message};
//   RedisClient* const client = opened->get();
//   const RedisFence fence(*client, "fence:account/42");
//   const auto begun = fence.Begin(lease);
//   if (!begun || !*begun) return Retry{};                  // no answer; a later holder was here
//   const auto balance = client->Run({"GET", "account/42"});
//   if (!balance) return Retry{};
//   const auto written = fence.Write(lease, {"SET", "account/42", NewBalance(*balance)});
//   if (!written || !*written) return Retry{};              // no answer; one came in between
//
// There is no way past the lease, on purpose.
//
// Thread safety: any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"
#include "oncemq/locks/lease.h"

namespace oncemq {

class RedisClient;  // oncemq/clients/redis_client.h
struct RedisReply;

class RedisFence {
 public:
  // `key` is kept for as long as what it protects. Both outlive this object.
  RedisFence(RedisClient& client, std::string key);

  // False: refused, a later holder was here. kInvalid: the lease has no fence, or is a shared or
  // counted one, next to which others are held.
  Result<bool> Begin(const Lease& lease) const;
  // Runs the command, in the same step in which it is sure that no later holder was here. Nothing:
  // refused. kInvalid: no Begin() with this lease came before.
  Result<std::optional<RedisReply>> Write(const Lease& lease,
                                          const std::vector<std::string_view>& command) const;

 private:
  struct Scripts;

  RedisClient& client_;
  const std::string key_;
  const std::shared_ptr<const Scripts> scripts_;
};

}  // namespace oncemq
