// SPDX-License-Identifier: Apache-2.0
// A target of effects in a Redis of its own, level guarded: it stores an id with its effect in one
// step, and knows it again for all workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq::testing {

// A Redis that cannot be opened ends the process.
//
// Thread safety: any thread of any process.
class RedisTarget {
 public:
  explicit RedisTarget(const std::string& url)
      : client_(*RedisClient::Open(*ParseRedisPlace(url))) {}

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

}  // namespace oncemq::testing
