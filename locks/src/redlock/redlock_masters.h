// SPDX-License-Identifier: Apache-2.0
// RedlockMasters: all of them, asked at the same time.
//
// Thread safety: any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "redlock_master.h"
#include "redlock_round.h"

namespace oncemq {

// redlock://[user[:password]@]host[:port],...[/database]. Failures: kInvalid.
Result<std::vector<RedisEndpoint>> ParseRedlock(std::string_view address);

class RedlockMasters {
 public:
  // Failures: kInvalid if one of them cannot be used; kUnavailable without a majority.
  static Result<std::unique_ptr<RedlockMasters>> Open(const std::vector<RedisEndpoint>& endpoints,
                                                      const RedisTimes& times);

  // All of their threads end at the same time.
  ~RedlockMasters();
  RedlockMasters(const RedlockMasters&) = delete;
  RedlockMasters& operator=(const RedlockMasters&) = delete;

  size_t count() const { return masters_.size(); }
  size_t majority() const;
  RedlockMaster& master(size_t index) const { return *masters_[index]; }

  using Enough = std::function<bool(const RedlockAnswers&)>;
  // Until `enough` says so, all have answered, or the time of a call is over.
  RedlockAnswers Request(RedlockQuestion question, const Enough& enough,
                         std::optional<BootTime> keep = std::nullopt) const;
  // Only those of `which`; the others count as asked in vain. Until all of them have answered.
  RedlockAnswers RequestSome(RedlockQuestion question, const std::vector<bool>& which,
                             BootTime keep) const;
  // Nobody waits for it. Done now, or until `keep`.
  void Send(size_t master, RedlockQuestion question, std::optional<BootTime> keep) const;

  // What to say when no majority answered.
  Error NoMajority(const RedlockAnswers& answers, Effect effect) const;

 private:
  explicit RedlockMasters(milliseconds call) : call_(call) {}

  const milliseconds call_;
  std::vector<std::unique_ptr<RedlockMaster>> masters_;
};

}  // namespace oncemq
