// SPDX-License-Identifier: Apache-2.0
// Targets of effects in a Redis of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/framework/handler.h"

namespace oncemq::testing {

// Level guarded: stores an id with its effect in one step, and knows it again for all workers. A
// Redis that cannot be opened ends the process.
//
// Thread safety: any thread of any process.
class RedisTarget {
 public:
  explicit RedisTarget(const std::string& url)
      : client_(*RedisClient::Open(*ParseRedisEndpoint(url))) {}

  // False: already done, nothing is stored.
  Result<bool> Store(std::string_view id) {
    const RedisCommand call{id};
    const auto stored = client_->Call(store_, 0, {&call, 1});
    if (!stored) {
      return stored.error();
    }
    return stored->front().integer == 1;
  }
  // The effects so far, and how often one was known already.
  int64_t size() { return Number({"LLEN", "effects"}); }
  int64_t known() { return Number({"STRLEN", "known"}); }
  // In the order in which they were stored.
  std::vector<int64_t> All() {
    const auto list = client_->Run(RedisCommand{"LRANGE", "effects", "0", "-1"});
    std::vector<int64_t> ids;
    for (const RedisReply& one : list ? list->list : std::vector<RedisReply>()) {
      ids.push_back(std::stoll(one.text));
    }
    return ids;
  }

 private:
  int64_t Number(const RedisCommand& command) {
    const auto reply = client_->Run(command);
    return reply ? reply->integer : -1;
  }

  const RedisScript store_{
      "if redis.call('SETNX', 'id:' .. ARGV[1], '') == 0 then\n"
      "  redis.call('APPEND', 'known', '.')\n"
      "  return 0\n"
      "end\n"
      "redis.call('RPUSH', 'effects', ARGV[1])\n"
      "return 1\n"};
  const std::unique_ptr<RedisClient> client_;
};

// Of a window at the level opaque.
inline constexpr WindowTimes kOpaqueTimes{.lease = std::chrono::seconds(3),
                                          .max_lease = std::chrono::seconds(60),
                                          .handler_timeout = std::chrono::seconds(2)};

// Level opaque: appends each effect with the words of its call, and knows nothing again. A Redis
// that cannot be opened ends the process.
//
// Thread safety: any thread of any process.
class RedisEffects {
 public:
  struct Call {
    int64_t id = 0;
    bool reported = false;  // that it may be the second one
    int64_t at_ms = 0;      // since 1970
  };
  explicit RedisEffects(const std::string& url)
      : client_(*RedisClient::Open(*ParseRedisEndpoint(url))) {}

  Status Append(const Context& context) {
    const bool reported = context.uncertain() || context.attempt() > 1;
    const std::string call = std::string(context.id()) + (reported ? " 1 " : " 0 ") +
                             std::to_string(SystemClock::Instance().Wall().micros / 1'000);
    const RedisCommand arguments{context.id(), call};
    const auto appended = client_->Call(append_, 0, {&arguments, 1});
    return appended ? Status() : Status(appended.error());
  }
  // How many ids have an effect.
  int64_t ids() {
    const auto reply = client_->Run(RedisCommand{"SCARD", "ids"});
    return reply ? reply->integer : -1;
  }
  std::vector<Call> All() {
    const auto list = client_->Run(RedisCommand{"LRANGE", "effects", "0", "-1"});
    std::vector<Call> calls;
    for (const RedisReply& one : list ? list->list : std::vector<RedisReply>()) {
      std::istringstream words(one.text);
      Call& call = calls.emplace_back();
      words >> call.id >> call.reported >> call.at_ms;
    }
    return calls;
  }

 private:
  const RedisScript append_{
      "redis.call('RPUSH', 'effects', ARGV[2])\n"
      "redis.call('SADD', 'ids', ARGV[1])\n"};
  const std::unique_ptr<RedisClient> client_;
};

}  // namespace oncemq::testing
